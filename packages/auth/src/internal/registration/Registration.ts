/**
 * The client that the program is at an issuer (AUT-11 to AUT-20).
 *
 * Registrations are kept in the token store under their issuer. A client id of one issuer is never sent to another.
 */
import { Excerpt } from "@effect-mcp/protocol/internal"
import { ForeignCall, LeastRecentlyUsed } from "@effect-mcp/session/internal"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Semaphore from "effect/Semaphore"
import type { Client, ClientAuth } from "oauth4webapi"
import type { Client as GivenClient, ClientIdentity, Credential } from "../../ClientIdentity.ts"
import * as OAuthError from "../../OAuthError.ts"
import type * as TokenStore from "../../TokenStore.ts"
import { isConfidential } from "../confidential.ts"
import type { Target } from "../discovery/Target.ts"
import type { OAuthHttp } from "../fetch/OAuthHttp.ts"
import type { StoredRegistration } from "../tokens/StoredRegistration.ts"
import * as ClientAuthentication from "./ClientAuthentication.ts"
import * as DynamicRegistration from "./DynamicRegistration.ts"
import * as StoredRegistrations from "./StoredRegistrations.ts"

/**
 * The identity of a program. Unlike that of the options, it can have a confidential client without an issuer: that of a
 * configuration, which the convention of hosts has no issuer for.
 */
export interface Identity extends Omit<ClientIdentity, "preRegistered"> {
  readonly preRegistered?: ReadonlyArray<GivenClient> | undefined
}

/** A client at an issuer. */
export interface RegisteredClient {
  readonly client: Client
  /** Authenticates requests to the token endpoint. */
  readonly clientAuth: ClientAuth
  /** The way to the client id (AUT-15). */
  readonly source: "Asked" | "Dynamic" | "MetadataDocument" | "PreRegistered"
  /**
   * Binds a client to the issuer, if it is not yet. It runs when a person has signed in there, and before the
   * credential of the client is sent there (AUT-19).
   */
  readonly bind: Effect.Effect<void, OAuthError.OAuthError> | undefined
}

/** Options of registrations. */
export interface Options {
  readonly http: OAuthHttp
  readonly store: TokenStore.TokenStore["Service"]
  readonly identity: Identity
  /** The account, as in the keys of the store. */
  readonly account: string
  /** Whether no person signs in, so that the program has to name each issuer. */
  readonly hasGrant?: boolean | undefined
}

/** Finds and registers clients. */
export interface Registration {
  /** Returns the client that the program gives for the issuer. */
  readonly given: (target: Target) => GivenClient | undefined
  /** Returns the redirect URI that the client has registered at the issuer, if there is one. */
  readonly remembered: (target: Target) => Effect.Effect<string | undefined, OAuthError.OAuthError>
  /** Returns the client that the program has at the issuer already. For refreshes and revocations. */
  readonly known: (target: Target) => Effect.Effect<RegisteredClient | undefined, OAuthError.OAuthError>
  /**
   * Returns the client at the issuer for this redirect URI, and registers one if necessary. Without a redirection, the
   * client is one of the device grant. `onAsk` runs before the host is asked for a client id, because a person may have
   * to answer.
   */
  readonly clientFor: (
    target: Target,
    redirection?: DynamicRegistration.RegisteredRedirection,
    onAsk?: Effect.Effect<void>
  ) => Effect.Effect<RegisteredClient, OAuthError.OAuthError>
  /**
   * Forgets a client that the issuer rejects as `invalid_client`. Returns whether `clientFor` may return another one
   * now: a registration is renewed once.
   */
  readonly forget: (target: Target, clientId: string) => Effect.Effect<boolean, OAuthError.OAuthError>
}

/** The time before its expiry from which a secret is not used any more. */
const expiryMargin = 60_000

/** The time in which a registration is renewed once. An issuer may forget its clients again much later. */
const renewalInterval = 3_600_000

/** The issuers whose state is remembered. */
const maxIssuers = 256

/** The attempts to write a registration, while other programs write theirs. */
const maxWrites = 4

const noClient = (issuer: string, remedy: string): OAuthError.OAuthError =>
  OAuthError.make({ _tag: "NoClient", issuer, remedy })

const isExpired = ({ secretExpiresAt }: StoredRegistration, now: number): boolean =>
  secretExpiresAt !== undefined && secretExpiresAt - expiryMargin <= now

/** Returns the client of the options for an issuer. A client without an issuer is for any, until it is bound. */
const givenFor = ({ preRegistered = [] }: Identity, issuer: string): GivenClient | undefined =>
  preRegistered.find((given) => given.issuer === issuer) ?? preRegistered.find((given) => given.issuer === undefined)

/** Returns whether the program gives a client for an issuer. Of several issuers, such a one is used. */
export const isGivenFor = ({ preRegistered = [] }: Identity, issuer: string): boolean =>
  preRegistered.some((given) => given.issuer === issuer)

const credentialOf = ({ authMethod, clientSecret }: StoredRegistration): Credential => ({
  secret: clientSecret,
  method: ClientAuthentication.isMethod(authMethod) ? authMethod : undefined
})

/** Returns a client of the program as an entry. A secret is stored only if the program does not give it again. */
const entryOf = (
  { clientId, method, redirectUri, secret }: GivenClient,
  keepsSecret: boolean
): StoredRegistration => ({
  clientId,
  clientSecret: keepsSecret ? secret : undefined,
  secretExpiresAt: undefined,
  authMethod: method ?? "",
  redirectUri,
  isGiven: true
})

/** Returns the client ids of the program that belong to the issuer of an entry. */
const boundIn = ({ boundClients = [], clientId, isGiven }: StoredRegistration): ReadonlyArray<string> =>
  isGiven === true ? [...boundClients, clientId] : boundClients

const clientOf = (
  target: Target,
  clientId: string,
  credential: Credential,
  source: RegisteredClient["source"],
  bind: RegisteredClient["bind"] = undefined
): Effect.Effect<RegisteredClient, OAuthError.OAuthError> =>
  Effect.map(ClientAuthentication.make(target, credential), (clientAuth) => ({
    client: { client_id: clientId },
    clientAuth,
    source,
    bind
  }))

/** The state of one issuer in this process. */
interface IssuerState {
  /** Two authorizations at once would register two clients. */
  readonly turns: Semaphore.Semaphore
  /** The client that the host has named. */
  asked: GivenClient | undefined
  /** The time at which a registration was forgotten. */
  forgottenAt: number | undefined
}

/** Creates the registrations of an account. */
export const make = ({ account, hasGrant = false, http, identity, store }: Options): Registration => {
  const stored = StoredRegistrations.make(store, account)
  const states = LeastRecentlyUsed.make<IssuerState>({ size: maxIssuers, weight: maxIssuers })

  const stateOf = (issuer: string): IssuerState => {
    const state = states.get(issuer) ?? { turns: Semaphore.makeUnsafe(1), asked: undefined, forgottenAt: undefined }
    states.set(issuer, state, 1)
    return state
  }

  /** Two sign-ins at once would bind a client to two issuers. */
  const bindings = Semaphore.makeUnsafe(1)

  const oneAtATime = <A, E>(issuer: string, effect: Effect.Effect<A, E>): Effect.Effect<A, E> =>
    Effect.suspend(() => stateOf(issuer).turns.withPermits(1)(effect))

  /** Writes an entry over the one that was read, whose bound clients stay. Returns whether it is the entry now. */
  const write = (
    issuer: string,
    entry: StoredRegistration,
    read: StoredRegistrations.Read | undefined
  ): Effect.Effect<boolean, OAuthError.OAuthError> => {
    const bound = read === undefined ? [] : boundIn(read.registration).filter((one) => one !== entry.clientId)
    const boundClients = Array.from(new Set(bound))
    return stored.write(issuer, boundClients.length === 0 ? entry : { ...entry, boundClients }, read?.version)
  }

  /** Returns the issuer to which a client id of the program belongs, according to the store. */
  const boundIssuer = Effect.fnUntraced(function*(
    clientId: string,
    issuer: string
  ): Effect.fn.Return<string | undefined, OAuthError.OAuthError> {
    // This issuer first: in most cases the client id is bound to it, and one read is enough.
    const issuers = yield* Effect.map(stored.issuers, (all) => all.toSorted((one) => one === issuer ? -1 : 0))
    for (const one of issuers) {
      const read = yield* stored.read(one)
      if (read !== undefined && boundIn(read.registration).includes(clientId)) return one
    }
    return undefined
  })

  /** Returns whether a client belongs to the issuer. Fails if it belongs to another one (AUT-19, AUT-20). */
  const isBound = Effect.fnUntraced(function*(
    given: GivenClient,
    issuer: string
  ): Effect.fn.Return<boolean, OAuthError.OAuthError> {
    if (given.issuer !== undefined) return true
    const bound = yield* boundIssuer(given.clientId, issuer)
    if (bound !== undefined && bound !== issuer) {
      const remedy = `the client id that the program gives belongs to ${bound}; give one of ${issuer}`
      return yield* noClient(issuer, remedy)
    }
    return bound !== undefined
  })

  /** Binds a client id without an issuer to the first issuer at which a person signs in (AUT-19, AUT-20). */
  const bind = Effect.fnUntraced(function*(
    given: GivenClient,
    issuer: string
  ): Effect.fn.Return<void, OAuthError.OAuthError> {
    for (let attempt = 0; attempt < maxWrites; attempt++) {
      if (yield* isBound(given, issuer)) return
      const read = yield* stored.read(issuer)
      // The registration of the issuer stays, because its tokens need it.
      const entry = read === undefined
        ? entryOf(given, false)
        : { ...read.registration, boundClients: [...boundIn(read.registration), given.clientId] }
      if (yield* stored.write(issuer, entry, read?.version)) return
    }
    return yield* noClient(issuer, "other programs change its entry in the token store all the time")
  })

  /** Returns the client that the program gives for the issuer, if it may be used there. */
  const givenClient = Effect.fnUntraced(function*(
    target: Target,
    given: GivenClient
  ): Effect.fn.Return<RegisteredClient, OAuthError.OAuthError> {
    const { issuer } = target
    const binding = (yield* isBound(given, issuer)) ? undefined : bindings.withPermits(1)(bind(given, issuer))
    return yield* clientOf(target, given.clientId, given, "PreRegistered", binding)
  })

  /** Returns whether a person has to sign in at the issuer before a client is used there (AUT-19). */
  const needsPerson = (target: Target, { bind: binding }: RegisteredClient): boolean =>
    binding !== undefined && (hasGrant || isConfidential(givenFor(identity, target.issuer) ?? {}))

  /** Removes the registration of an issuer. The clients of the program that belong to it stay bound. */
  const remove = (
    issuer: string,
    { registration, version }: StoredRegistrations.Read
  ): Effect.Effect<void, OAuthError.OAuthError> => {
    const [clientId, ...boundClients] = (registration.boundClients ?? []).filter((id) => id !== registration.clientId)
    return clientId === undefined
      ? stored.remove(issuer, version)
      : Effect.asVoid(stored.write(issuer, { ...entryOf({ clientId }, false), boundClients }, version))
  }

  const documentFor = (target: Target): string | undefined =>
    target.metadata["client_id_metadata_document_supported"] === true ? identity.metadataUrl : undefined

  /** Returns the data of a dynamic registration, if the program allows one. */
  const registrationData = (): ClientIdentity["registration"] => {
    if (identity.registration !== undefined) return identity.registration
    return identity.preRegistered === undefined || identity.preRegistered.length === 0 ? {} : false
  }

  /** Returns the client that needs no registration. */
  const withoutRegistration = Effect.fnUntraced(function*(
    target: Target
  ): Effect.fn.Return<RegisteredClient | undefined, OAuthError.OAuthError> {
    const { issuer } = target
    const given = givenFor(identity, issuer)
    if (given !== undefined) return yield* givenClient(target, given)
    const documentUrl = documentFor(target)
    if (documentUrl !== undefined) {
      return yield* clientOf(target, documentUrl, identity.metadataCredential ?? {}, "MetadataDocument")
    }
    const { asked } = stateOf(issuer)
    return asked === undefined ? undefined : yield* clientOf(target, asked.clientId, asked, "Asked")
  })

  /** Returns the client of an entry. An entry of a client id that the program does not give any more is not used. */
  const ofEntry = Effect.fnUntraced(function*(
    target: Target,
    { registration }: StoredRegistrations.Read
  ): Effect.fn.Return<RegisteredClient | undefined, OAuthError.OAuthError> {
    const now = yield* Clock.currentTimeMillis
    const isGiven = registration.isGiven === true
    const isAsked = isGiven && identity.ask !== undefined
    if (isExpired(registration, now) || (isGiven && !isAsked)) return undefined
    const source = isAsked ? "Asked" : "Dynamic"
    return yield* clientOf(target, registration.clientId, credentialOf(registration), source)
  })

  const known = Effect.fnUntraced(function*(
    target: Target
  ): Effect.fn.Return<RegisteredClient | undefined, OAuthError.OAuthError> {
    const fixed = yield* withoutRegistration(target)
    if (fixed !== undefined) return needsPerson(target, fixed) ? undefined : fixed
    const read = yield* stored.read(target.issuer)
    return read === undefined ? undefined : yield* ofEntry(target, read)
  })

  /** Registers a client, and stores it. If another program was faster, its client is used. */
  const registered = Effect.fnUntraced(function*(
    target: Target,
    endpoint: URL,
    data: Exclude<ClientIdentity["registration"], false | undefined>,
    redirection: DynamicRegistration.RegisteredRedirection | undefined
  ): Effect.fn.Return<RegisteredClient, OAuthError.OAuthError> {
    const { issuer } = target
    let made: StoredRegistration | undefined
    for (let attempt = 0; attempt < maxWrites; attempt++) {
      const read = yield* stored.read(issuer)
      const usable = read === undefined || read.registration.redirectUri !== redirection?.uri
        ? undefined
        : yield* ofEntry(target, read)
      if (usable !== undefined) return usable
      made ??= yield* DynamicRegistration.register(http, target, endpoint, data, redirection)
      if (yield* write(issuer, made, read)) {
        return yield* clientOf(target, made.clientId, credentialOf(made), "Dynamic")
      }
    }
    return yield* noClient(issuer, "other programs change its entry in the token store all the time")
  })

  const asked = Effect.fnUntraced(function*(
    target: Target,
    onAsk: Effect.Effect<void>
  ): Effect.fn.Return<RegisteredClient | undefined, OAuthError.OAuthError> {
    const { issuer } = target
    if (identity.ask === undefined) return undefined
    const read = yield* stored.read(issuer)
    const earlier = read === undefined ? undefined : yield* ofEntry(target, read)
    if (earlier !== undefined) return earlier
    const asking = identity.ask(issuer)
    const answer = yield* Effect.andThen(onAsk, ForeignCall.detachable(asking))
    if (answer === undefined) return undefined
    if (answer.issuer !== undefined && answer.issuer !== issuer) {
      return yield* noClient(issuer, `the host has named a client of ${answer.issuer}`)
    }
    stateOf(issuer).asked = answer
    // A private key is not stored: the host is asked again in another process.
    if (answer.privateKey === undefined) yield* write(issuer, entryOf(answer, true), read)
    return yield* clientOf(target, answer.clientId, answer, "Asked")
  })

  const remedyFor = (issuer: string): string => {
    const [given] = identity.preRegistered ?? []
    return given?.issuer === undefined
      ? `it has no registration for programs; register a client there, and give its id in \`preRegistered\``
      : `the client id that the program gives is for ${given.issuer}; give one of ${issuer}`
  }

  const clientFor = Effect.fnUntraced(function*(
    target: Target,
    redirection: DynamicRegistration.RegisteredRedirection | undefined,
    onAsk: Effect.Effect<void>
  ): Effect.fn.Return<RegisteredClient, OAuthError.OAuthError> {
    const fixed = yield* withoutRegistration(target)
    if (fixed !== undefined) {
      if (redirection !== undefined || !needsPerson(target, fixed)) return fixed
      const named = Excerpt.name(fixed.client.client_id)
      const remedy = `name the \`issuer\` of the client ${named}: a server could name another one, to which its ` +
        "credential would be sent before a person has seen it"
      return yield* noClient(target.issuer, remedy)
    }
    const endpoint = target.metadata.registration_endpoint
    const data = registrationData()
    if (data !== undefined && data !== false && endpoint !== undefined) {
      return yield* registered(target, new URL(endpoint), data, redirection)
    }
    return (yield* asked(target, onAsk)) ?? (yield* noClient(target.issuer, remedyFor(target.issuer)))
  })

  const remembered = Effect.fnUntraced(function*(
    target: Target
  ): Effect.fn.Return<string | undefined, OAuthError.OAuthError> {
    const given = givenFor(identity, target.issuer)
    if (given !== undefined) return given.redirectUri
    const read = yield* stored.read(target.issuer)
    return read?.registration.redirectUri
  })

  const forget = Effect.fnUntraced(function*(
    target: Target,
    clientId: string
  ): Effect.fn.Return<boolean, OAuthError.OAuthError> {
    const { issuer } = target
    if (givenFor(identity, issuer) !== undefined || documentFor(target) !== undefined) return false
    const state = stateOf(issuer)
    const now = yield* Clock.currentTimeMillis
    const read = yield* stored.read(issuer)
    // Another program has registered another client meanwhile.
    if (read !== undefined && read.registration.clientId !== clientId) return true
    if (state.forgottenAt !== undefined && now - state.forgottenAt < renewalInterval) return false
    state.forgottenAt = now
    state.asked = undefined
    if (read !== undefined) yield* remove(issuer, read)
    return true
  })

  return {
    given: ({ issuer }) => givenFor(identity, issuer),
    remembered,
    known,
    clientFor: (target, redirection, onAsk = Effect.void) =>
      oneAtATime(target.issuer, clientFor(target, redirection, onAsk)),
    forget: (target, clientId) => oneAtATime(target.issuer, forget(target, clientId))
  }
}

/**
 * The client that the program is at an issuer (AUT-11 to AUT-20).
 *
 * Registrations are kept in the token store under their issuer. A client id of one issuer is never sent to another.
 */
import { ForeignCall, LeastRecentlyUsed } from "@effect-mcp/session/internal"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Semaphore from "effect/Semaphore"
import type { Client, ClientAuth } from "oauth4webapi"
import type { ClientIdentity, Credential, PreRegistered } from "../../ClientIdentity.ts"
import * as OAuthError from "../../OAuthError.ts"
import type * as TokenStore from "../../TokenStore.ts"
import type { Target } from "../discovery/Target.ts"
import type { OAuthHttp } from "../fetch/OAuthHttp.ts"
import type { StoredRegistration } from "../tokens/StoredRegistration.ts"
import * as ClientAuthentication from "./ClientAuthentication.ts"
import * as DynamicRegistration from "./DynamicRegistration.ts"
import * as StoredRegistrations from "./StoredRegistrations.ts"

/** A client at an issuer. */
export interface RegisteredClient {
  readonly client: Client
  /** Authenticates requests to the token endpoint. */
  readonly clientAuth: ClientAuth
  /** The way to the client id (AUT-15). */
  readonly source: "Asked" | "Dynamic" | "MetadataDocument" | "PreRegistered"
}

/** Options of registrations. */
export interface Options {
  readonly http: OAuthHttp
  readonly store: TokenStore.TokenStore["Service"]
  readonly identity: ClientIdentity
  /** The account, as in the keys of the store. */
  readonly account: string
}

/** Finds and registers clients. */
export interface Registration {
  /** Returns the client that the program gives for the issuer. */
  readonly given: (target: Target) => PreRegistered | undefined
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
const givenFor = ({ preRegistered = [] }: ClientIdentity, issuer: string): PreRegistered | undefined =>
  preRegistered.find((given) => given.issuer === issuer) ?? preRegistered.find((given) => given.issuer === undefined)

/** Returns whether the program gives a client for an issuer. Of several issuers, such a one is used. */
export const isGivenFor = ({ preRegistered = [] }: ClientIdentity, issuer: string): boolean =>
  preRegistered.some((given) => given.issuer === issuer)

const credentialOf = ({ authMethod, clientSecret }: StoredRegistration): Credential => ({
  secret: clientSecret,
  method: ClientAuthentication.isMethod(authMethod) ? authMethod : undefined
})

/** Returns a client of the program as an entry. A secret is stored only if the program does not give it again. */
const entryOf = (
  { clientId, method, redirectUri, secret }: PreRegistered,
  keepsSecret: boolean
): StoredRegistration => ({
  clientId,
  clientSecret: keepsSecret ? secret : undefined,
  secretExpiresAt: undefined,
  authMethod: method ?? "",
  redirectUri,
  isGiven: true
})

const clientOf = (
  target: Target,
  clientId: string,
  credential: Credential,
  source: RegisteredClient["source"]
): Effect.Effect<RegisteredClient, OAuthError.OAuthError> =>
  Effect.map(ClientAuthentication.make(target, credential), (clientAuth) => ({
    client: { client_id: clientId },
    clientAuth,
    source
  }))

/** The state of one issuer in this process. */
interface IssuerState {
  /** Two authorizations at once would register two clients. */
  readonly turns: Semaphore.Semaphore
  /** The client that the host has named. */
  asked: PreRegistered | undefined
  /** The time at which a registration was forgotten. */
  forgottenAt: number | undefined
}

/** Creates the registrations of an account. */
export const make = ({ account, http, identity, store }: Options): Registration => {
  const stored = StoredRegistrations.make(store, account)
  const states = LeastRecentlyUsed.make<IssuerState>({ size: maxIssuers, weight: maxIssuers })

  const stateOf = (issuer: string): IssuerState => {
    const state = states.get(issuer) ?? { turns: Semaphore.makeUnsafe(1), asked: undefined, forgottenAt: undefined }
    states.set(issuer, state, 1)
    return state
  }

  const oneAtATime = <A, E>(issuer: string, effect: Effect.Effect<A, E>): Effect.Effect<A, E> =>
    Effect.suspend(() => stateOf(issuer).turns.withPermits(1)(effect))

  /** Writes an entry over the one that was read. Returns whether it is the entry now. */
  const write = (
    issuer: string,
    entry: StoredRegistration,
    read: StoredRegistrations.Read | undefined
  ): Effect.Effect<boolean, OAuthError.OAuthError> => stored.write(issuer, entry, read?.version)

  /** Returns the issuer to which a client id of the program belongs, according to the store. */
  const boundIssuer = Effect.fnUntraced(function*(
    clientId: string,
    issuer: string
  ): Effect.fn.Return<string | undefined, OAuthError.OAuthError> {
    // This issuer first: in most cases the client id is bound to it, and one read is enough.
    const issuers = yield* Effect.map(stored.issuers, (all) => all.toSorted((one) => one === issuer ? -1 : 0))
    for (const one of issuers) {
      const read = yield* stored.read(one)
      if (read?.registration.isGiven === true && read.registration.clientId === clientId) return one
    }
    return undefined
  })

  /** Binds a client id without an issuer to the first issuer that uses it (AUT-19, AUT-20). */
  const bind = Effect.fnUntraced(function*(
    given: PreRegistered,
    issuer: string
  ): Effect.fn.Return<void, OAuthError.OAuthError> {
    if (given.issuer !== undefined) return
    for (let attempt = 0; attempt < maxWrites; attempt++) {
      const bound = yield* boundIssuer(given.clientId, issuer)
      if (bound === issuer) return
      if (bound !== undefined) {
        const remedy = `the client id that the program gives belongs to ${bound}; give one of ${issuer}`
        return yield* noClient(issuer, remedy)
      }
      if (yield* write(issuer, entryOf(given, false), yield* stored.read(issuer))) return
    }
    return yield* noClient(issuer, "other programs change its entry in the token store all the time")
  })

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
    if (given !== undefined) {
      yield* bind(given, issuer)
      return yield* clientOf(target, given.clientId, given, "PreRegistered")
    }
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
    if (fixed !== undefined) return fixed
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
    if (fixed !== undefined) return fixed
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
    if (read !== undefined) yield* stored.remove(issuer, read.version)
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

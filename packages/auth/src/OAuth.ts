/**
 * OAuth for clients: signs in to the servers that ask for it, and keeps their tokens.
 *
 * @stability unstable
 */
import { LoadedPackages } from "@effect-mcp/protocol/internal"
import * as ClientAuthorization from "@effect-mcp/transport/ClientAuthorization"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Equal from "effect/Equal"
import type { HttpClient } from "effect/http/HttpClient"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Scope from "effect/Scope"
import * as ClientIdentity from "./ClientIdentity.ts"
import type * as Grant from "./Grant.ts"
import type { PendingSignIn } from "./internal/access/PendingSignIn.ts"
import { ServerAccess } from "./internal/access/ServerAccess.ts"
import { SignInQueue } from "./internal/access/SignInQueue.ts"
import * as Discovery from "./internal/discovery/Discovery.ts"
import * as OAuthHttp from "./internal/fetch/OAuthHttp.ts"
import * as Registration from "./internal/registration/Registration.ts"
import { thisPackage } from "./internal/thisPackage.ts"
import type { OAuthError } from "./OAuthError.ts"
import * as TokenStore from "./TokenStore.ts"
import * as UserAgent from "./UserAgent.ts"

/**
 * Options for a server.
 *
 * @category options
 */
export interface ServerOptions {
  /** The client that the program is at authorization servers. Default: a client that is registered dynamically. */
  readonly identity?: ClientIdentity.ClientIdentity | undefined
  /** The way in which a person signs in. Default: none, so that a server that needs a person fails at once. */
  readonly userAgent?: UserAgent.UserAgent | undefined
  /** The grant of a program without a person. It replaces `userAgent`. */
  readonly grant?: Grant.Grant | undefined
  /** The name by which the tokens of several accounts are kept apart. Default `default`. */
  readonly account?: string | undefined
  /** Scopes that are requested in any case. Default: only those that the server asks for or supports. */
  readonly scopes?: ReadonlyArray<string> | undefined
  /**
   * `false` leaves out the parameter `resource`, which Microsoft Entra rejects. The specification requires it: without
   * it, the authorization server does not know for which server the token is.
   */
  readonly resource?: false | undefined
  /**
   * `true` signs in at an issuer whose metadata does not list the PKCE method S256, such as Microsoft Entra, which
   * supports it. The specification requires to reject such an issuer, because it may ignore PKCE (AUT-22).
   */
  readonly assumesPkce?: boolean | undefined
  /**
   * The issuer of a server without metadata of a protected resource, if it is not the origin of the server. Default:
   * metadata of another issuer is not used.
   */
  readonly legacyIssuer?: string | undefined
  /**
   * Binds tokens to a key (DPoP, RFC 9449). Default: only if the server asks for it, with a challenge of this scheme.
   * The authorization server has to support it.
   */
  readonly dpop?: boolean | undefined
}

/**
 * Options of {@link layer}.
 *
 * @category options
 */
export interface Options extends ServerOptions {
  /** Options of single servers by URL, in place of those of all. */
  readonly servers?: Readonly<Record<string, ServerOptions>> | undefined
  /** Default: the service `TokenStore`, if it is provided, or else a store in memory. */
  readonly store?: TokenStore.TokenStore["Service"] | undefined
  /**
   * Origins to which requests are sent whatever their address is, such as `https://auth.internal:8443`. Requests of an
   * authorization go only to public addresses otherwise, except to the server itself (AUT-54).
   */
  readonly allowedOrigins?: ReadonlyArray<string> | undefined
  /**
   * The client of the requests of an authorization, such as one that uses a proxy, or that of a browser. It must not
   * follow redirects. It resolves names itself, so only URLs with a literal private address are refused, and it must
   * refuse names that lead to one. Default: a client of Node that does (AUT-54).
   */
  readonly httpClient?: HttpClient | undefined
  /** The name that a person sees when the client asks for access, if it is registered dynamically. */
  readonly clientName?: string | undefined
}

/**
 * A sign-in that has begun.
 *
 * @category models
 */
export interface SignIn {
  /** The URL that the person visits. */
  readonly url: string | undefined
  /** The code that the person enters there. */
  readonly code: string | undefined
  /** Whether the sign-in at another server is shown first. */
  readonly isQueued: boolean
  /** The time at which it began, in milliseconds since 1970. */
  readonly since: number
  /** Completes when the person has signed in. It goes on if nothing waits for it. */
  readonly authorized: Effect.Effect<void, OAuthError>
}

/**
 * The state of the authorization at a server.
 *
 * @category models
 */
export type Status = ClientAuthorization.AccountStatus

/**
 * The authorization of a program at the servers that it uses.
 *
 * Servers decide when it is needed, and people decide about windows: one opens because the program was started, and one
 * after each `login` or `confirm`. Nothing that a server sends opens another. The windows of several servers open one
 * after the other: when a person has signed in, or has not answered for 5 minutes. `login` waits for none.
 *
 * @example
 * ```ts
 * import { OAuth } from "@effect-mcp/auth"
 * import * as Effect from "effect/Effect"
 *
 * export const signInAgain = Effect.gen(function*() {
 *   const oauth = yield* OAuth.OAuth
 *   yield* oauth.logout("https://notes.example/mcp")
 *   yield* oauth.login("https://notes.example/mcp", { scopes: ["notes:write"] })
 * })
 * ```
 *
 * @category services
 */
export class OAuth extends Context.Service<OAuth, {
  /** The authorization for clients over HTTP and WebSocket. */
  readonly authorization: ClientAuthorization.ClientAuthorization["Service"]
  /**
   * Signs a person in, or requests the grant of the program, also if there are tokens. A sign-in that waits for a
   * person begins anew, with another window. `scopes` are added to those that were requested before. If there are
   * none, all that the server supports are requested.
   */
  readonly login: (
    server: string | URL,
    options?: { readonly scopes?: ReadonlyArray<string> | undefined }
  ) => Effect.Effect<void, OAuthError>
  /** Begins to sign a person in, as `login` does. Returns `undefined` if no person was needed. */
  readonly start: (
    server: string | URL,
    options?: { readonly scopes?: ReadonlyArray<string> | undefined }
  ) => Effect.Effect<SignIn | undefined, OAuthError>
  /**
   * Removes the tokens, and revokes them at the issuer. If the issuer cannot be reached, it fails, and the tokens are
   * removed nevertheless. No window opens until the next `login`.
   */
  readonly logout: (server: string | URL) => Effect.Effect<void, OAuthError>
  readonly status: (server: string | URL) => Effect.Effect<Status, OAuthError>
}>()("@effect-mcp/auth/OAuth") {}

const signInOf = ({ authorized, code, isQueued, since, url }: PendingSignIn): SignIn => ({
  authorized,
  code,
  isQueued,
  since,
  url
})

/** Returns the identity, with the name of the client if a registration has none. */
const named = (
  identity: Registration.Identity,
  clientName: string | undefined
): Registration.Identity => {
  const { registration } = identity
  if (clientName === undefined || registration === false) return identity
  const isGiven = identity.preRegistered !== undefined && identity.preRegistered.length > 0
  // Without the member, a program with a client of its own registers none.
  return registration === undefined && isGiven
    ? identity
    : { ...identity, registration: { clientName, ...registration } }
}

/** The options of a server, with the client that a configuration describes, or without. */
interface ConfiguredOptions extends Omit<ServerOptions, "identity"> {
  readonly identity?: Registration.Identity | undefined
}

/** Returns the options of a server whose client a configuration describes. */
const configured = (
  { clientId, clientSecret: secret, issuer, scopes }: ClientAuthorization.ConfiguredClient
): ConfiguredOptions => ({
  ...(clientId === undefined ? {} : { identity: { preRegistered: [{ clientId, issuer, secret }] } }),
  ...(scopes === undefined ? {} : { scopes })
})

/** Returns whether two configurations describe the same client. */
const isSame = (
  one: ClientAuthorization.ConfiguredClient | undefined,
  other: ClientAuthorization.ConfiguredClient | undefined
): boolean =>
  one?.clientId === other?.clientId && one?.issuer === other?.issuer && one?.redirectUri === other?.redirectUri &&
  Equal.equals(one?.clientSecret, other?.clientSecret) && Equal.equals(one?.scopes, other?.scopes) &&
  (one === undefined) === (other === undefined)

/** Returns the identity for a grant, for which no client is registered (AUX-01). */
const registeredBefore = (identity: Registration.Identity): Registration.Identity => ({
  preRegistered: identity.preRegistered,
  registration: false
})

/** The authorization at a server, and the client that a configuration describes. */
interface Access {
  readonly client: ClientAuthorization.ConfiguredClient | undefined
  readonly access: ServerAccess
}

/** Creates the service, which ends with the scope: a sign-in that waits is ended, and its listener is closed. */
const make = Effect.fnUntraced(function*(options: Options): Effect.fn.Return<OAuth["Service"], never, Scope.Scope> {
  const { allowedOrigins, clientName, httpClient, servers = {} } = options
  const scope = yield* Scope.Scope
  const clock = yield* Clock.Clock
  const provided = yield* Effect.serviceOption(TokenStore.TokenStore)
  const store = options.store ?? Option.getOrUndefined(provided) ?? (yield* TokenStore.makeMemory())
  const http = httpClient === undefined
    ? yield* OAuthHttp.makePlatform({ allowedOrigins })
    : OAuthHttp.make(httpClient, { allowedOrigins })
  const all = new Map(Object.entries(servers).map(([url, own]) => [Discovery.canonicalUri(new URL(url)), own]))
  /** The authorizations at each server, by the client that a configuration describes. */
  const accesses = new Map<string, Array<Access>>()
  const queue = new SignInQueue()
  const registrations = new Map<string, Map<Registration.Identity | undefined, Registration.Registration>>()

  /** Servers with the same identity and account share the clients that are registered. */
  const registrationOf = (
    given: Registration.Identity | undefined,
    identity: Registration.Identity,
    account: string
  ): Registration.Registration => {
    const ofAccount = registrations.get(account) ?? new Map()
    registrations.set(account, ofAccount)
    const known = ofAccount.get(given)
    if (known !== undefined) return known
    const registration = Registration.make({ http, store, identity, account })
    ofAccount.set(given, registration)
    return registration
  }

  const created = Effect.fnUntraced(function*(
    server: URL,
    own: ConfiguredOptions,
    redirectUri: string | undefined
  ) {
    const {
      account = "default",
      assumesPkce,
      dpop = false,
      grant,
      identity: given,
      legacyIssuer,
      resource,
      scopes,
      userAgent
    } = {
      ...options,
      ...own
    }
    const identity = named(given ?? {}, clientName)
    // Dynamic registrations for a person are kept apart from the clients of grants.
    const registration = grant === undefined
      ? registrationOf(given, identity, account)
      : Registration.make({ http, store, identity: registeredBefore(identity), account, hasGrant: true })
    const prefers = (issuer: string): boolean => Registration.isGivenFor(identity, issuer)
    const discovery = yield* Discovery.make({
      http,
      prefers,
      legacyIssuer,
      assumesPkce,
      sendsResource: resource !== false
    })
    return new ServerAccess({
      server,
      clock,
      http,
      store,
      discovery,
      registration,
      identity,
      account,
      userAgent: userAgent ?? UserAgent.none,
      grant,
      scopes,
      isProven: dpop,
      redirectUri,
      queue
    }, scope)
  })

  const of = (given: string | URL, client?: ClientAuthorization.ConfiguredClient): Effect.Effect<ServerAccess> =>
    Effect.suspend(() => {
      const server = new URL(given)
      const uri = Discovery.canonicalUri(server)
      const ofServer = accesses.get(uri) ?? []
      accesses.set(uri, ofServer)
      const find = () => ofServer.find((known) => isSame(known.client, client))
      // Without a description, the server is meant, whose client may be described elsewhere.
      const known = find() ?? (client === undefined ? ofServer[0] : undefined)
      if (known !== undefined) return Effect.succeed(known.access)
      const own = { ...(client === undefined ? {} : configured(client)), ...all.get(uri) }
      return Effect.map(created(server, own, client?.redirectUri), (access) => {
        // Another fiber may have been faster.
        const first = find()
        if (first !== undefined) return first.access
        ofServer.push({ client, access })
        return access
      })
    })

  const begin: OAuth["Service"]["start"] = (server, { scopes } = {}) =>
    Effect.flatMap(of(server), (access) => access.begin(scopes)).pipe(
      Effect.map((pending) => pending === undefined ? undefined : signInOf(pending))
    )

  return {
    authorization: { of },
    login: (server, { scopes } = {}) => Effect.flatMap(of(server), (access) => access.login(scopes)),
    start: begin,
    logout: (server) => Effect.flatMap(of(server), ({ logout }) => logout),
    status: (server) => Effect.flatMap(of(server), ({ status }) => status)
  }
})

/**
 * Provides `OAuth`, and `ClientAuthorization` for the clients over HTTP and WebSocket. Nothing is started, stored or
 * sent before a server asks for authorization.
 *
 * Dies with an `InvalidOptionError` if an option cannot be used, and with a `TypeError` for a URL that is none.
 *
 * @example
 * ```ts
 * import { OAuth } from "@effect-mcp/auth"
 * import * as NodeUserAgent from "@effect-mcp/auth/NodeUserAgent"
 * import { ClientSession } from "@effect-mcp/session"
 * import { StreamableHttpClient } from "@effect-mcp/transport/node"
 * import * as Layer from "effect/Layer"
 *
 * export const notes = ClientSession.layer({ info: { name: "example", version: "1.0.0" } }).pipe(
 *   Layer.provide(StreamableHttpClient.layerNode({ url: "https://notes.example/mcp" })),
 *   Layer.provide(OAuth.layer({ clientName: "Example", userAgent: NodeUserAgent.browser() }))
 * )
 * ```
 *
 * @category layers
 */
export const layer = (options: Options = {}): Layer.Layer<OAuth | ClientAuthorization.ClientAuthorization> =>
  Layer.effectContext(Effect.gen(function*() {
    LoadedPackages.check(thisPackage)
    for (const own of [{}, ...Object.values(options.servers ?? {})]) {
      const { grant, identity }: ServerOptions = { ...options, ...own }
      const problem = identity && ClientIdentity.check(identity, { hasGrant: grant !== undefined })
      if (problem !== undefined) return yield* Effect.die(problem)
    }
    const oauth = yield* make(options)
    return Context.make(OAuth, oauth).pipe(
      Context.add(ClientAuthorization.ClientAuthorization, oauth.authorization)
    )
  }))

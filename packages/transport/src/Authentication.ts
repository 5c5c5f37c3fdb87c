/**
 * The authentication of HTTP requests, before they reach a session (HTTP-14, HTTP-16).
 *
 * @stability unstable
 */
import type { Principal } from "@effect-mcp/session/Principal"
import * as Context from "effect/Context"
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import type { HttpServerRequest } from "effect/http/HttpServerRequest"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import * as AuthenticationChallenge from "./AuthenticationChallenge.ts"
import { DeferredUses } from "./internal/shared/DeferredUses.ts"

/**
 * The error of a request that is not authenticated. It is rejected with 401, and the challenge names the credentials to
 * send.
 *
 * @example
 * ```ts
 * import { Authentication } from "@effect-mcp/transport"
 *
 * export const message = new Authentication.Unauthenticated({ challenge: "Bearer realm=\"notes\"" }).message
 * // => "not authenticated: Bearer realm=\"notes\""
 * ```
 *
 * @category errors
 */
export class Unauthenticated extends Data.TaggedError("Unauthenticated")<{
  /** The value of `WWW-Authenticate`, such as `Bearer realm="notes"`. */
  readonly challenge: string
}> {
  override get message(): string {
    return `not authenticated: ${this.challenge}`
  }
}

/**
 * The error of a request whose credentials break a rule of their scheme, for example a second `Authorization` header.
 * It is rejected with 400 (RFC 6750, section 3.1).
 *
 * @example
 * ```ts
 * import { Authentication } from "@effect-mcp/transport"
 *
 * export const message = new Authentication.InvalidRequest({ challenge: "Bearer error=\"invalid_request\"" }).message
 * // => "the credentials are malformed: Bearer error=\"invalid_request\""
 * ```
 *
 * @category errors
 */
export class InvalidRequest extends Data.TaggedError("InvalidRequest")<{
  /** The value of `WWW-Authenticate`, such as `Bearer error="invalid_request"`. */
  readonly challenge: string
}> {
  override get message(): string {
    return `the credentials are malformed: ${this.challenge}`
  }
}

/**
 * The error of a request whose sender is known and not allowed to use this server, for example because its token lacks
 * a scope. It is rejected with 403.
 *
 * @example
 * ```ts
 * import { Authentication } from "@effect-mcp/transport"
 *
 * export const error = new Authentication.Forbidden({
 *   challenge: "Bearer error=\"insufficient_scope\", scope=\"notes:read\""
 * })
 * ```
 *
 * @category errors
 */
export class Forbidden extends Data.TaggedError("Forbidden")<{
  /** The value of `WWW-Authenticate`. Default: no such header. */
  readonly challenge?: string | undefined
}> {
  override get message(): string {
    return this.challenge === undefined ? "not allowed" : `not allowed: ${this.challenge}`
  }
}

/**
 * The error of an authentication that cannot decide now, for example because its database does not answer. The request
 * is rejected with 503, and the cause is logged.
 *
 * @example
 * ```ts
 * import { Authentication } from "@effect-mcp/transport"
 * import * as Effect from "effect/Effect"
 *
 * export const decided = <A, R>(query: Effect.Effect<A, Error, R>) =>
 *   Effect.mapError(query, (cause) => new Authentication.Unavailable({ cause, retryAfterMillis: 5000 }))
 * ```
 *
 * @category errors
 */
export class Unavailable extends Data.TaggedError("Unavailable")<{
  readonly cause?: unknown
  /** The time after which the client can retry, in milliseconds. Default: not known. */
  readonly retryAfterMillis?: number | undefined
}> {
  override get message(): string {
    return "authentication is not available now"
  }
}

/**
 * The errors of requests that are not accepted.
 *
 * @category errors
 */
export type Rejection = Forbidden | InvalidRequest | Unauthenticated | Unavailable

/**
 * The identity of the sender of a request: a principal, or `"anonymous"` for a sender that is accepted without one.
 *
 * @category models
 */
export type Identity = Principal | "anonymous"

/**
 * The problem of a request that the server rejects after `identify` has accepted its sender.
 *
 * @category models
 */
export interface Problem {
  /**
   * `insufficient_scope`: the principal lacks a scope of the operation; 403 (AUT-46). `invalid_token`: the identity has
   * expired; 401. `undefined`: the operation needs scopes, and the sender is anonymous; 401, without an error, because
   * the request has no credentials (RFC 6750, section 3.1).
   */
  readonly error: "insufficient_scope" | "invalid_token" | undefined
  /** All scopes of the operation, also those that the principal has (AUT-47). Empty if they are not known. */
  readonly scopes: ReadonlyArray<string>
}

/**
 * Returns the challenge of a problem as the value of `WWW-Authenticate`, in the scheme `Bearer`. `further` are
 * parameters of the authentication, such as `realm` or `resource_metadata`.
 *
 * @example
 * ```ts
 * import { Authentication } from "@effect-mcp/transport"
 *
 * export const header = Authentication.challengeOf(
 *   { error: "insufficient_scope", scopes: ["notes:read", "notes:write"] },
 *   { realm: "notes" }
 * )
 * // => "Bearer error=\"insufficient_scope\", scope=\"notes:read notes:write\", realm=\"notes\""
 * ```
 *
 * @category constructors
 */
export const challengeOf = (
  { error, scopes }: Problem,
  further: Readonly<Record<string, string | undefined>> = {}
): string =>
  AuthenticationChallenge.print("Bearer", {
    error,
    scope: scopes.length === 0 ? undefined : scopes.join(" "),
    ...further
  })

/**
 * The port that authenticates the requests of a network server: it accepts or rejects each request, and names its
 * principal. Every server over HTTP and WebSocket requires it; {@link anonymous} accepts everything. A session belongs
 * to the principal that opened it: for any other principal it does not exist.
 *
 * The server calls `identify` before it looks at the session or the body of a request. Two checks are earlier: a wrong
 * `Host` or `Origin` is rejected with 403, and a browser's preflight request (`OPTIONS`), which carries no credentials,
 * is answered. A call that takes longer than `identifyTimeout` (default 10 seconds) is answered with 503, and one that
 * dies with 500. Neither is accepted.
 *
 * @example
 * ```ts
 * import { Authentication } from "@effect-mcp/transport"
 * import * as Effect from "effect/Effect"
 *
 * // Behind a gateway that authenticates the users.
 * export const behindGateway = Authentication.layer(({ headers }) => {
 *   const user = headers["x-user"]
 *   return user === undefined
 *     ? Effect.fail(new Authentication.Unauthenticated({ challenge: "Gateway" }))
 *     : Effect.succeed({ id: user })
 * })
 * ```
 *
 * @category services
 */
export class Authentication extends Context.Service<Authentication, {
  /** Returns the identity of the sender, or fails for a sender that is not accepted. */
  readonly identify: (request: HttpServerRequest) => Effect.Effect<Identity, Rejection>
  /**
   * Returns the challenge of a request that lacks scopes, or whose identity has expired. If it throws, the response has
   * the default. Default: {@link challengeOf}.
   */
  readonly challenge?: ((problem: Problem, request: HttpServerRequest) => string) | undefined
  /**
   * Returns headers for each response, such as the nonce of DPoP (RFC 9449, section 8.2). The response to an upgrade to
   * a WebSocket has none of them. If it throws, there are none. Default: none.
   */
  readonly headers?: ((request: HttpServerRequest) => Readonly<Record<string, string>>) | undefined
}>()("@effect-mcp/transport/Authentication") {}

const accepted: Effect.Effect<Identity> = Effect.succeed("anonymous")

/**
 * Accepts every request, without a principal. For tests, for servers that only programs of their own machine can reach,
 * and for servers on a network that need no authentication.
 *
 * @example
 * ```ts
 * import { SessionHost } from "@effect-mcp/session"
 * import { Authentication, StreamableHttpServer } from "@effect-mcp/transport/node"
 * import * as Layer from "effect/Layer"
 *
 * const host = SessionHost.layer({}, { info: { name: "example", version: "1.0.0" } })
 *
 * export const main = StreamableHttpServer.layerNode({ port: 3000 }).pipe(
 *   Layer.provide(host),
 *   Layer.provide(Authentication.anonymous),
 *   Layer.launch
 * )
 * ```
 *
 * @category layers
 */
export const anonymous: Layer.Layer<Authentication> = Layer.succeed(Authentication, { identify: () => accepted })

/**
 * Provides an authentication of your own. `identify` may need services: they are those of the program that builds the
 * Layer. The options are the other members of {@link Authentication}.
 *
 * @example
 * ```ts
 * import { Authentication } from "@effect-mcp/transport"
 * import * as Context from "effect/Context"
 * import * as Effect from "effect/Effect"
 *
 * class Users extends Context.Service<Users, {
 *   readonly ofApiKey: (key: string) => Effect.Effect<{ readonly id: string } | undefined, Error>
 * }>()("example/Users") {}
 *
 * // A Layer that needs `Users`.
 * export const apiKeys = Authentication.layer(Effect.fnUntraced(function*({ headers }) {
 *   const users = yield* Users
 *   const user = yield* Effect.mapError(
 *     users.ofApiKey(headers["x-api-key"] ?? ""),
 *     (cause) => new Authentication.Unavailable({ cause })
 *   )
 *   return user ?? (yield* new Authentication.Unauthenticated({ challenge: "ApiKey" }))
 * }))
 * ```
 *
 * @category layers
 */
export const layer = <R = never>(
  identify: (request: HttpServerRequest) => Effect.Effect<Identity, Rejection, R>,
  options: Pick<Authentication["Service"], "challenge" | "headers"> = {}
): Layer.Layer<Authentication, never, R> =>
  Layer.effect(
    Authentication,
    Effect.map(Effect.context<R>(), (context) => ({
      identify: (request) => Effect.provideContext(identify(request), context),
      challenge: options.challenge,
      headers: options.headers
    }))
  )

/**
 * Uses up what is valid for one request only, such as the id of a proof (DPoP). An `identify` that remembers such
 * values runs the step that stores them by this function, after all other checks.
 *
 * In a fleet, a process that forwards a request authenticates it, and the owner of its session authenticates it again.
 * The step therefore runs at the process that carries the request out: at the owner for a forwarded request, and here
 * for all others, also for those that are rejected. It runs once, or not at all if the client leaves before. The client
 * receives its rejection, as one of `identify`. Without a fleet, it runs at once.
 *
 * @example
 * ```ts
 * import { UsedStates } from "@effect-mcp/session"
 * import { Authentication } from "@effect-mcp/transport"
 * import * as Effect from "effect/Effect"
 *
 * // Accepts each ticket once. `used` is shared by all processes.
 * export const acceptOnce = (used: UsedStates.UsedStates, ticket: string, expiresAt: number) =>
 *   Authentication.useOnce(used.use(ticket, expiresAt, undefined).pipe(
 *     Effect.mapError((cause) => new Authentication.Unavailable({ cause })),
 *     Effect.flatMap((isNew) =>
 *       isNew ? Effect.void : Effect.fail(new Authentication.Unauthenticated({ challenge: "Ticket" }))
 *     )
 *   ))
 * ```
 *
 * @category combinators
 */
export const useOnce = (use: Effect.Effect<void, Rejection>): Effect.Effect<void, Rejection> =>
  Effect.flatMap(DeferredUses, (uses) => uses === undefined ? use : Effect.sync(() => uses.add(use)))

/**
 * Takes the identity from a service that the middleware of the backend's own routes provides, so that the backend
 * authenticates in one place. Provide the middleware to the server's Layer as to any other route. A request without the
 * service dies, is answered with 500, and is logged with the name of the service.
 *
 * @example
 * ```ts
 * import { Authentication, StreamableHttpServer } from "@effect-mcp/transport"
 * import * as Context from "effect/Context"
 * import * as Effect from "effect/Effect"
 * import * as HttpRouter from "effect/http/HttpRouter"
 * import * as Layer from "effect/Layer"
 *
 * class CurrentUser extends Context.Service<CurrentUser, { readonly name: string }>()("example/CurrentUser") {}
 *
 * // A real one would read the request, and answer with 401 if there is no user.
 * const users = HttpRouter.middleware<{ provides: CurrentUser }>()((route) =>
 *   Effect.provideService(route, CurrentUser, { name: "ada" })
 * )
 *
 * export const mcp = StreamableHttpServer.layer().pipe(
 *   Layer.provide(Authentication.fromService(CurrentUser, ({ name }) => ({ id: name }))),
 *   Layer.provide(users.layer)
 * )
 * ```
 *
 * @category layers
 */
export const fromService = <I, S>(
  service: Context.Key<I, S>,
  toIdentity: (value: S) => Identity
): Layer.Layer<Authentication> =>
  Layer.succeed(Authentication, {
    identify: () =>
      Effect.flatMap(Effect.serviceOption(service), (value) =>
        Option.isSome(value)
          ? Effect.sync(() => toIdentity(value.value))
          : Effect.die(new Error(`no middleware of this route provides ${service.key} (Authentication.fromService)`)))
  })

/**
 * Options for bearer tokens.
 *
 * @category options
 */
export interface BearerOptions<R = never> {
  /**
   * Returns the principal of a token; `undefined` for an unknown or expired token. Fails with `Forbidden` if the token
   * lacks a scope, and with `Unavailable` if it cannot be verified now. It may need services.
   */
  readonly verify: (token: Redacted.Redacted<string>) => Effect.Effect<Principal | undefined, Rejection, R>
  /** The `realm` of the challenge: the name of the protected resource. Default: none. */
  readonly realm?: string | undefined
}

const bearer = /^bearer +([\w\-.~+/]+=*) *$/i

/** Returns text for a quoted string of a header, without the characters that would end or break it. */
const quoted = (text: string): string => text.replaceAll(/[^\x20\x21\x23-\x5b\x5d-\x7e]/g, "")

/**
 * Accepts requests with a valid bearer token (RFC 6750).
 *
 * @example
 * ```ts
 * import { Authentication } from "@effect-mcp/transport"
 * import * as Effect from "effect/Effect"
 * import * as Redacted from "effect/Redacted"
 *
 * export const tokens = Authentication.layerBearer({
 *   realm: "notes",
 *   verify: (token) => Effect.succeed(Redacted.value(token) === "adas-secret" ? { id: "ada" } : undefined)
 * })
 * ```
 *
 * @category layers
 */
export const layerBearer = <R = never>(
  { realm, verify }: BearerOptions<R>
): Layer.Layer<Authentication, never, R> => {
  const parts = realm === undefined ? [] : [`realm="${quoted(realm)}"`]
  const fail = (...problem: ReadonlyArray<string>) =>
    Effect.fail(new Unauthenticated({ challenge: ["Bearer", [...parts, ...problem].join(", ")].join(" ").trim() }))
  return layer(({ headers }) => {
    const authorization = headers["authorization"]
    if (authorization === undefined) return fail()
    const token = bearer.exec(authorization)?.[1]
    if (token === undefined) return fail("error=\"invalid_request\"")
    return Effect.flatMap(
      verify(Redacted.make(token)),
      (principal) => principal === undefined ? fail("error=\"invalid_token\"") : Effect.succeed(principal)
    )
  }, { challenge: (problem) => challengeOf(problem, { realm }) })
}

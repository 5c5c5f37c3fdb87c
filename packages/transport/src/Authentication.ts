/**
 * The authentication of HTTP requests, before they reach a session (HTTP-14, HTTP-16).
 */
import type { Principal } from "@effect-mcp/session/Principal"
import * as Context from "effect/Context"
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import type { HttpServerRequest } from "effect/http/HttpServerRequest"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"

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
 * The identity of the sender of a request: a principal, or `"anonymous"` for a sender that is accepted without one.
 *
 * @category models
 */
export type Identity = Principal | "anonymous"

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
 * import * as Layer from "effect/Layer"
 *
 * // Behind a gateway that authenticates the users.
 * export const behindGateway = Layer.succeed(Authentication.Authentication, {
 *   identify: ({ headers }) => {
 *     const user = headers["x-user"]
 *     return user === undefined
 *       ? Effect.fail(new Authentication.Unauthenticated({ challenge: "Gateway" }))
 *       : Effect.succeed({ id: user })
 *   }
 * })
 * ```
 *
 * @category services
 */
export class Authentication extends Context.Service<Authentication, {
  /** Returns the identity of the sender, or fails for a sender that is not accepted. */
  readonly identify: (request: HttpServerRequest) => Effect.Effect<Identity, Unauthenticated>
}>()("@effect-mcp/transport/Authentication") {}

const accepted: Effect.Effect<Identity> = Effect.succeed("anonymous")

/**
 * Accepts every request, without a principal. For tests, for servers that only programs of their own machine can reach,
 * and for servers on a network that need no authentication.
 *
 * @example
 * ```ts
 * import { SessionHost } from "@effect-mcp/session"
 * import { Authentication, StreamableHttpServer } from "@effect-mcp/transport"
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
 * Options for bearer tokens.
 *
 * @category options
 */
export interface BearerOptions {
  /** Returns the principal of a token; `undefined` for an unknown or expired token. */
  readonly verify: (token: Redacted.Redacted<string>) => Effect.Effect<Principal | undefined>
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
export const layerBearer = ({ realm, verify }: BearerOptions): Layer.Layer<Authentication> => {
  const parts = realm === undefined ? [] : [`realm="${quoted(realm)}"`]
  const fail = (...problem: ReadonlyArray<string>) =>
    Effect.fail(new Unauthenticated({ challenge: ["Bearer", [...parts, ...problem].join(", ")].join(" ").trim() }))
  return Layer.succeed(Authentication, {
    identify: ({ headers }) => {
      const authorization = headers["authorization"]
      if (authorization === undefined) return fail()
      const token = bearer.exec(authorization)?.[1]
      if (token === undefined) return fail("error=\"invalid_request\"")
      return Effect.flatMap(
        verify(Redacted.make(token)),
        (principal) => principal === undefined ? fail("error=\"invalid_token\"") : Effect.succeed(principal)
      )
    }
  })
}

/**
 * Who asks: what stands between an HTTP request and the session that it is for (HTTP-14, HTTP-16).
 *
 * @since 0.1.0
 */
import type { Principal } from "@effect-mcp/session/Principal"
import * as Context from "effect/Context"
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import type { HttpServerRequest } from "effect/http/HttpServerRequest"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"

/**
 * Nobody is let in with this request. It is answered with status 401 and the challenge, which says what would be let in.
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
 * @since 0.1.0
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
 * The port: every request of a server that has it in its context goes through it, before its session or its body is looked at. Only
 * what comes to a wrong host or from a wrong page is refused before; and the question of a page whether it may ask at all (`OPTIONS`)
 * is answered without it, since browsers do not say then who asks. A session belongs to the principal that opened it, and for every
 * other it does not exist. Where it is absent everybody is let in as nobody.
 *
 * @example
 * ```ts
 * import { Authentication } from "@effect-mcp/transport"
 * import * as Effect from "effect/Effect"
 * import * as Layer from "effect/Layer"
 *
 * // Behind a gateway that has found out who asks.
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
 * @since 0.1.0
 */
export class Authentication extends Context.Service<Authentication, {
  readonly identify: (request: HttpServerRequest) => Effect.Effect<Principal, Unauthenticated>
}>()("@effect-mcp/transport/Authentication") {}

/**
 * How bearer tokens are asked for.
 *
 * @category options
 * @since 0.1.0
 */
export interface BearerOptions {
  /** Finds out whose token it is; `undefined` if it is nobody's, or not any more. */
  readonly verify: (token: Redacted.Redacted<string>) => Effect.Effect<Principal | undefined>
  /** What the token is for. The default says nothing about it. */
  readonly realm?: string | undefined
}

const bearer = /^bearer +([\w\-.~+/]+=*) *$/i

/** Text within a quoted string of a header; what would end or break it is left out. */
const quoted = (text: string): string => text.replaceAll(/[^\x20\x21\x23-\x5b\x5d-\x7e]/g, "")

/**
 * Lets in who carries a bearer token that is somebody's (RFC 6750).
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
 * @since 0.1.0
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

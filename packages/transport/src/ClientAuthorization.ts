/**
 * The authorization of a client at the servers that it calls over HTTP or WebSocket (AUT-05, AUT-33).
 */
import type { TransportError } from "@effect-mcp/session/TransportError"
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import type { AuthenticationChallenge } from "./AuthenticationChallenge.ts"
import type { HeaderValues } from "./HttpClientOptions.ts"

/**
 * A request before it is sent.
 *
 * @category models
 */
export interface OutgoingRequest {
  readonly method: "DELETE" | "GET" | "POST"
  /** The URL of the request, after the redirects so far. The URL of an upgrade to a WebSocket begins with `https:`. */
  readonly url: URL
}

/**
 * A request that the server has answered with 401 or 403. The server has not carried it out.
 *
 * @category models
 */
export interface RejectedRequest extends OutgoingRequest {
  readonly status: 401 | 403
  readonly challenges: ReadonlyArray<AuthenticationChallenge>
  /** The headers that the authorization gave this request: the same object. */
  readonly sentWith: HeaderValues
  /** The operation of a message, such as `tools/call "write"`; `undefined` for a stream. */
  readonly operation: string | undefined
  /** Returns a header of the response. */
  readonly header: (name: string) => string | undefined
}

/**
 * The authorization at one server. All connections with the server share it.
 *
 * Neither function waits for a person. If a person has to act, it fails with `AuthorizationRequired`, whose
 * `authorized` completes when the person has. Sessions wait for that, and send the request again.
 *
 * @category models
 */
export interface ServerAuthorization {
  /** Returns the headers that authorize a request. */
  readonly headers: (request: OutgoingRequest) => Effect.Effect<HeaderValues, TransportError>
  /**
   * Handles a rejection. The request is sent once more if this succeeds, with the headers that `headers` then returns.
   * If it returns `"Final"`, the rejection is the outcome of the request.
   */
  readonly rejected: (request: RejectedRequest) => Effect.Effect<"Again" | "Final", TransportError>
  /** Called with each response of another status, for what a server sends with it, such as the nonces of DPoP. */
  readonly responded?: (request: OutgoingRequest, header: (name: string) => string | undefined) => void
}

/**
 * The port that authorizes a client at servers. A client over HTTP or WebSocket uses its option `authorization`, or
 * this service, if it is provided to the Layer of the client. Without either, a request that is answered with 401 fails
 * with `Unauthenticated`.
 *
 * @example
 * ```ts
 * import { ClientAuthorization } from "@effect-mcp/transport"
 * import * as Effect from "effect/Effect"
 * import * as Layer from "effect/Layer"
 * import * as Redacted from "effect/Redacted"
 *
 * // One key for all servers; a rejection of it is final.
 * export const byKey = Layer.succeed(ClientAuthorization.ClientAuthorization, {
 *   of: () =>
 *     Effect.succeed({
 *       headers: () => Effect.succeed({ "x-api-key": Redacted.make("secret") }),
 *       rejected: () => Effect.succeed("Final")
 *     })
 * })
 * ```
 *
 * @category services
 */
export class ClientAuthorization extends Context.Service<ClientAuthorization, {
  /** Returns the authorization at a server: the same for the same URL. */
  readonly of: (server: URL) => Effect.Effect<ServerAuthorization>
}>()("@effect-mcp/transport/ClientAuthorization") {}

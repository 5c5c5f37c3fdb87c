/**
 * A client for servers of which only the URL is known. It uses Streamable HTTP, and falls back to HTTP+SSE, the
 * transport of revision 2024-11-05, if the server supports nothing newer (SSE-07).
 *
 * @stability unstable
 */
import * as Transport from "@effect-mcp/session/Transport"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import type { HttpClient } from "effect/http/HttpClient"
import * as Layer from "effect/Layer"
import * as HttpSseClient from "./HttpSseClient.ts"
import * as HttpClients from "./internal/http/client/HttpClients.ts"
import * as StreamableHttpClient from "./StreamableHttpClient.ts"

/**
 * Options of a client that falls back to HTTP+SSE. Over HTTP+SSE, `standalone`, `reconnect` and `closeTimeout` have no
 * effect.
 *
 * @category options
 */
export interface Options extends StreamableHttpClient.Options {
  /**
   * The time that a server of HTTP+SSE has to open the stream and to name the endpoint for messages. Default 10
   * seconds.
   */
  readonly connectTimeout?: Duration.Input | undefined
}

/**
 * Creates the transport as a value. Each `connect` opens another session, so one transport carries any number of
 * sessions.
 *
 * The first message, `initialize`, is sent as a POST to the URL. A status from 400 to 499, or 501, may mean that the
 * server supports no POST there. Then the client requests the SSE stream of HTTP+SSE from the same URL. If the server
 * opens it, this message and all later ones use HTTP+SSE. If not, the request fails with the first error, or with
 * `Unauthenticated` if the stream was answered with 401. The client does not fall back after a JSON-RPC error, nor
 * after a status about authorization (401, 403, 407) or frequency (429): a server of Streamable HTTP sends these.
 *
 * The result holds for all later sessions of this transport. To detect that the server was replaced by an older or
 * newer one, create the transport again. Sessions that connect during the detection wait for it.
 *
 * @example
 * ```ts
 * import { ClientSession, Transport } from "@effect-mcp/session"
 * import { HttpFallbackClient } from "@effect-mcp/transport"
 * import * as Effect from "effect/Effect"
 *
 * const info = { name: "example", version: "1.0.0" }
 *
 * // The second session uses the transport that the first one detected.
 * export const two = Effect.gen(function*() {
 *   const transport = yield* HttpFallbackClient.make({ url: "https://example.com/sse" })
 *   const session = Effect.provideService(ClientSession.make({ info }), Transport.Transport, transport)
 *   return yield* Effect.all([session, session])
 * })
 * ```
 *
 * @category constructors
 */
export const make = Effect.fnUntraced(function*(
  { connectTimeout, ...options }: Options
): Effect.fn.Return<Transport.Transport["Service"], never, HttpClient> {
  // An authorization is the same for the same URL, so that of one transport is that of the other.
  const streamable = yield* StreamableHttpClient.make(options)
  const httpSse = yield* HttpSseClient.make({ ...options, connectTimeout: connectTimeout ?? "10 seconds" })
  // Loaded on first use, as both transports are.
  const fallback = yield* Effect.promise(() => import("./internal/http/client/fallback/HttpFallbackConnection.ts"))
  return fallback.make(streamable, httpSse)
})

/**
 * Provides the transport over any HTTP client of Effect, which must not follow redirects by itself; see
 * `StreamableHttpClient.layer`. On Node, `layerNode` of `@effect-mcp/transport/node` includes one.
 *
 * @example
 * ```ts
 * import { HttpFallbackClient } from "@effect-mcp/transport"
 * import * as NodeHttpClient from "@effect/platform-node/NodeHttpClient"
 * import * as Layer from "effect/Layer"
 *
 * export const overSocket = Layer.provide(
 *   HttpFallbackClient.layer({ url: "http://localhost/mcp" }),
 *   NodeHttpClient.layerUndiciOptions({ connect: { socketPath: "/run/example.sock" } })
 * )
 * ```
 *
 * @category layers
 */
export const layer = (options: Options): Layer.Layer<Transport.Transport, never, HttpClient> =>
  Layer.effect(Transport.Transport, make(options))

/**
 * Provides the transport over the global `fetch`, for browsers and all other platforms.
 *
 * @example
 * ```ts
 * import { HttpFallbackClient } from "@effect-mcp/transport"
 *
 * export const server = HttpFallbackClient.layerFetch({ url: "https://example.com/mcp" })
 * ```
 *
 * @category layers
 */
export const layerFetch = (options: Options): Layer.Layer<Transport.Transport> =>
  Layer.provide(layer(options), HttpClients.fetch)

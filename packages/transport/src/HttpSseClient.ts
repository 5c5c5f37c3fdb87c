/**
 * The client of HTTP+SSE, the transport of revision 2024-11-05, for servers that support nothing newer. A GET opens the
 * SSE stream on which all messages of the server arrive (SSE-04). Its first event names the endpoint for messages
 * (SSE-02). The client sends all its messages there as POSTs (SSE-03), one after another.
 *
 * The session ends with its stream, which cannot be resumed. `HttpFallbackClient` finds out which of the two HTTP
 * transports a server supports.
 *
 * @stability unstable
 */
import { LoadedPackages } from "@effect-mcp/protocol/internal"
import { NumericOption } from "@effect-mcp/session/internal"
import * as Transport from "@effect-mcp/session/Transport"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import type { HttpClient } from "effect/http/HttpClient"
import * as Layer from "effect/Layer"
import type * as HttpClientOptions from "./HttpClientOptions.ts"
import * as HttpClients from "./internal/http/client/HttpClients.ts"
import * as FrameText from "./internal/shared/FrameText.ts"
import { thisPackage } from "./internal/thisPackage.ts"
import * as Sse from "./Sse.ts"

/**
 * Options of an HTTP+SSE client. The URL is that of the stream.
 *
 * @category options
 */
export interface Options extends HttpClientOptions.Options {
  /** The time that the server has to open the stream and to name the endpoint for messages. Default 30 seconds. */
  readonly connectTimeout?: Duration.Input | undefined
}

const rules: NumericOption.Rules<Options> = {
  maxMessageBytes: NumericOption.count,
  maxMessageNodes: NumericOption.count,
  connectTimeout: NumericOption.duration
}

/**
 * Creates the transport as a value. Each `connect` opens another session, so one transport carries any number of
 * sessions. `connect` fails with
 *
 * - `ConnectFailed` if the server cannot be reached, or names no endpoint for messages, or names one of another origin,
 *   to which nothing is sent;
 * - `Rejected` if the server answers with an error status, and `Unauthenticated` if that is 401;
 * - `AuthorizationRequired` while a person has to authorize the client, and `AuthorizationFailed`.
 *
 * A message fails as over Streamable HTTP: with one of these, or with `ExchangeEnded` if it may have been carried out.
 * `run` ends with the stream, and fails with `ReadFailed` if the stream breaks. Closing the scope closes the stream and
 * cancels the messages in flight.
 *
 * @example
 * ```ts
 * import { ClientSession, Transport } from "@effect-mcp/session"
 * import { HttpSseClient } from "@effect-mcp/transport"
 * import * as Effect from "effect/Effect"
 *
 * const info = { name: "example", version: "1.0.0" }
 *
 * // Two sessions with one server.
 * export const two = Effect.gen(function*() {
 *   const transport = yield* HttpSseClient.make({ url: "https://example.com/sse" })
 *   const session = Effect.provideService(ClientSession.make({ info }), Transport.Transport, transport)
 *   return yield* Effect.all([session, session])
 * })
 * ```
 *
 * @category constructors
 */
export const make = (
  options: Options
): Effect.Effect<Transport.Transport["Service"], never, HttpClient> =>
  // Loaded on first use: a program that uses only stdio must not pay 100 ms for HTTP.
  Effect.flatMap(
    Effect.promise(() =>
      Promise.all([
        import("./internal/http/client/sse/HttpSseClientConnection.ts"),
        import("./internal/http/client/SecretHeaders.ts")
      ])
    ),
    ([connection, SecretHeaders]) => {
      LoadedPackages.check(thisPackage)
      NumericOption.check(options, rules)
      return Effect.flatMap(SecretHeaders.make(options), ({ authorization, headers, hide }) => {
        const made = connection.make({
          url: options.url,
          headers,
          authorization,
          maxMessageBytes: options.maxMessageBytes ?? Sse.defaultMaxEventBytes,
          maxMessageNodes: options.maxMessageNodes ?? FrameText.defaultMaxNodes,
          connectTimeout: options.connectTimeout ?? "30 seconds"
        })
        return Effect.map(made, hide)
      })
    }
  )

/**
 * Provides the transport over any HTTP client of Effect, which must not follow redirects by itself; see
 * `StreamableHttpClient.layer`. On Node, `layerNode` of `@effect-mcp/transport/node` includes one.
 *
 * @example
 * ```ts
 * import { HttpSseClient } from "@effect-mcp/transport"
 * import * as NodeHttpClient from "@effect/platform-node/NodeHttpClient"
 * import * as Layer from "effect/Layer"
 *
 * export const overSocket = Layer.provide(
 *   HttpSseClient.layer({ url: "http://localhost/sse" }),
 *   NodeHttpClient.layerUndiciOptions({ connect: { socketPath: "/run/example.sock" } })
 * )
 * ```
 *
 * @category layers
 */
export const layer = (options: Options): Layer.Layer<Transport.Transport, never, HttpClient> =>
  Layer.effect(Transport.Transport, make(options))

/**
 * Provides the transport over the global `fetch`, for browsers and all other platforms. On Node, `fetch` aborts a
 * stream after 5 minutes of silence, which ends the session; `layerNode` of `@effect-mcp/transport/node` does not.
 *
 * @example
 * ```ts
 * import { HttpSseClient } from "@effect-mcp/transport"
 *
 * export const server = HttpSseClient.layerFetch({ url: "https://example.com/sse" })
 * ```
 *
 * @category layers
 */
export const layerFetch = (options: Options): Layer.Layer<Transport.Transport> =>
  Layer.provide(layer(options), HttpClients.fetch)

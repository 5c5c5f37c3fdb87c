/**
 * The client half of HTTP+SSE, the transport of revision 2024-11-05, for servers that know nothing newer: a GET opens one stream of
 * events, on which all comes that the server says (SSE-04), its first event says where to POST to (SSE-02), and all messages go there
 * (SSE-03), one behind the other.
 *
 * The session is as long as its stream: nobody can come back to one. Which of the two transports of HTTP a server speaks,
 * `HttpFallbackClient` finds out.
 *
 * @since 0.1.0
 */
import * as NumericOption from "@effect-mcp/session/NumericOption"
import * as Transport from "@effect-mcp/session/Transport"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import type { HttpClient } from "effect/http/HttpClient"
import * as Layer from "effect/Layer"
import * as EventStreamFraming from "./EventStreamFraming.ts"
import { headersOf } from "./internal/http/client/headersOf.ts"
import * as HttpClients from "./internal/http/client/HttpClients.ts"
import * as FrameText from "./internal/shared/FrameText.ts"
import type * as StreamableHttpClient from "./StreamableHttpClient.ts"

/**
 * Where the server is, what it wants to know, and how long to wait for it. What `StreamableHttpClient.Options` says of these holds
 * here, too; the URL is that of the stream.
 *
 * @category options
 * @since 0.1.0
 */
export interface Options
  extends
    Pick<StreamableHttpClient.Options, "authorize" | "headers" | "messageLimitBytes" | "messageLimitNodes" | "url">
{
  /** How long the server may take to open the stream and say where to POST to. The default is 30 seconds. */
  readonly openWithin?: Duration.Input | undefined
}

const rules: NumericOption.Rules<Options> = {
  messageLimitBytes: NumericOption.count,
  messageLimitNodes: NumericOption.count,
  openWithin: NumericOption.duration
}

/**
 * The transport as a value. Each `connect` is a session of its own, so it carries any number of sessions. It fails with
 *
 * - `ConnectFailed` when the server cannot be reached, or does not say where to POST to, or names another origin, where nothing is sent;
 * - `Rejected` when the server refuses the stream with a status, and `Unauthenticated` when it does not know who asks.
 *
 * A message fails as over Streamable HTTP: with `ConnectFailed`, `Rejected`, `Unauthenticated`, or `ExchangeEnded` when it may have been
 * carried out. `run` ends when the stream ends, and fails with `ReadFailed` when it breaks off. Leaving the scope gives up the stream and
 * whatever is in flight.
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
 * @since 0.1.0
 */
export const make = (
  options: Options
): Effect.Effect<Transport.Transport["Service"], never, HttpClient> =>
  // Loaded when it is used: a program that speaks over stdio must not pay 100 ms for HTTP.
  Effect.flatMap(
    Effect.promise(() => import("./internal/http/client/sse/HttpSseClientConnection.ts")),
    (connection) => {
      NumericOption.check(options, rules)
      return connection.make({
        url: options.url,
        headers: headersOf(options.headers),
        authorize: options.authorize,
        limitBytes: options.messageLimitBytes ?? EventStreamFraming.defaultLimitBytes,
        limitNodes: options.messageLimitNodes ?? FrameText.defaultLimitNodes,
        openWithin: options.openWithin ?? "30 seconds"
      })
    }
  )

/**
 * The transport as a Layer over any HTTP client of Effect. On Node, {@link layerNode} is all in one. What `StreamableHttpClient.layer`
 * says of redirects holds here, too.
 *
 * @example
 * ```ts
 * import { HttpSseClient } from "@effect-mcp/transport"
 * import * as NodeHttpClient from "@effect/platform-node/NodeHttpClient"
 * import * as Layer from "effect/Layer"
 *
 * export const behindSocket = Layer.provide(
 *   HttpSseClient.layer({ url: "http://localhost/sse" }),
 *   NodeHttpClient.layerUndiciOptions({ connect: { socketPath: "/run/example.sock" } })
 * )
 * ```
 *
 * @category layers
 * @since 0.1.0
 */
export const layer = (options: Options): Layer.Layer<Transport.Transport, never, HttpClient> =>
  Layer.effect(Transport.Transport, make(options))

/**
 * The transport as a Layer that needs nothing, on Node. It stands on undici, which lets go of a connection that is given up, and leaves
 * none when the Layer closes.
 *
 * @example
 * ```ts
 * import { ClientSession } from "@effect-mcp/session"
 * import { HttpSseClient } from "@effect-mcp/transport"
 * import * as Effect from "effect/Effect"
 * import * as Layer from "effect/Layer"
 *
 * const server = HttpSseClient.layerNode({ url: "https://example.com/sse" })
 * const session = ClientSession.layer({ info: { name: "example", version: "1.0.0" } })
 *
 * export const program = Effect.gen(function*() {
 *   const example = yield* ClientSession.ClientSession
 *   return yield* example.callTool("search", { words: "birthday" })
 * }).pipe(
 *   Effect.provide(Layer.provide(session, server))
 * )
 * ```
 *
 * @category layers
 * @since 0.1.0
 */
export const layerNode = (options: Options): Layer.Layer<Transport.Transport> =>
  Layer.provide(layer(options), HttpClients.undici)

/**
 * The transport as a Layer over the `fetch` that there is, for browsers and everywhere else. On Node, `fetch` breaks off a stream on
 * which nothing has come for 5 minutes, which ends the session; {@link layerNode} does not.
 *
 * @example
 * ```ts
 * import { HttpSseClient } from "@effect-mcp/transport"
 *
 * export const server = HttpSseClient.layerFetch({ url: "https://example.com/sse" })
 * ```
 *
 * @category layers
 * @since 0.1.0
 */
export const layerFetch = (options: Options): Layer.Layer<Transport.Transport> =>
  Layer.provide(layer(options), HttpClients.fetch)

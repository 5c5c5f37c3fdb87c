/**
 * A client for servers of either age that are reached by one URL: it speaks Streamable HTTP, and HTTP+SSE, the transport of revision
 * 2024-11-05, with a server that knows nothing newer (SSE-07).
 *
 * @since 0.1.0
 */
import * as Transport from "@effect-mcp/session/Transport"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import type { HttpClient } from "effect/http/HttpClient"
import * as Layer from "effect/Layer"
import * as HttpSseClient from "./HttpSseClient.ts"
import { headersOf } from "./internal/http/client/headersOf.ts"
import * as HttpClients from "./internal/http/client/HttpClients.ts"
import * as StreamableHttpClient from "./StreamableHttpClient.ts"

/**
 * What may be said about Streamable HTTP, and how long an older server may take. Over HTTP+SSE, `standalone`, `reconnect` and
 * `closeWithin` have no meaning.
 *
 * @category options
 * @since 0.1.0
 */
export interface Options extends StreamableHttpClient.Options {
  /** How long an older server may take to open the stream and say where to POST to. The default is 10 seconds. */
  readonly openWithin?: Duration.Input | undefined
}

/**
 * The transport as a value. Each `connect` is a session of its own, so it carries any number of sessions.
 *
 * The first message, which is `initialize`, is POSTed to the URL. Where it is refused with a status from 400 to 499, or
 * 501, that may mean that nothing is POSTed there, the same URL is asked for the stream of HTTP+SSE, and if there is
 * one, the message and all that follow go that way. If there is none, the first refusal is what is reported, unless the
 * stream is there for others: then it is `Unauthenticated`. A refusal that is a JSON-RPC error is the answer of a
 * server that knows Streamable HTTP, and so is one that is about who asks (401, 403, 407) or how often (429).
 *
 * What was found out holds for all later sessions, as long as the transport does: one that is to notice that its server was replaced by
 * an older or a newer one has to be made again. Sessions that are opened while it is found out wait for it.
 *
 * @example
 * ```ts
 * import { ClientSession, Transport } from "@effect-mcp/session"
 * import { HttpFallbackClient } from "@effect-mcp/transport"
 * import * as Effect from "effect/Effect"
 *
 * const info = { name: "example", version: "1.0.0" }
 *
 * // The second session knows what the server speaks.
 * export const two = Effect.gen(function*() {
 *   const transport = yield* HttpFallbackClient.make({ url: "https://example.com/sse" })
 *   const session = Effect.provideService(ClientSession.make({ info }), Transport.Transport, transport)
 *   return yield* Effect.all([session, session])
 * })
 * ```
 *
 * @category constructors
 * @since 0.1.0
 */
export const make = Effect.fnUntraced(function*(
  { authorize, openWithin, ...options }: Options
): Effect.fn.Return<Transport.Transport["Service"], never, HttpClient> {
  // What has proved who asks over the one proves it over the other.
  let proof: StreamableHttpClient.HeaderValues = {}
  const prove = (challenge: string | undefined) =>
    Effect.tap(authorize?.(challenge) ?? Effect.undefined, (values) =>
      Effect.sync(() => {
        proof = values ?? proof
      }))
  const newer = yield* StreamableHttpClient.make({ ...options, authorize: prove })
  const older = yield* HttpSseClient.make({
    ...options,
    headers: Effect.map(headersOf(options.headers), (headers) => ({ ...headers, ...proof })),
    authorize: prove,
    openWithin: openWithin ?? "10 seconds"
  })
  // Loaded when it is used, as they are.
  const fallback = yield* Effect.promise(() => import("./internal/http/client/fallback/HttpFallbackConnection.ts"))
  return fallback.make(newer, older)
})

/**
 * The transport as a Layer over any HTTP client of Effect. On Node, {@link layerNode} is all in one. What `StreamableHttpClient.layer`
 * says of redirects holds here, too.
 *
 * @example
 * ```ts
 * import { HttpFallbackClient } from "@effect-mcp/transport"
 * import * as NodeHttpClient from "@effect/platform-node/NodeHttpClient"
 * import * as Layer from "effect/Layer"
 *
 * export const behindSocket = Layer.provide(
 *   HttpFallbackClient.layer({ url: "http://localhost/mcp" }),
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
 * The transport as a Layer that needs nothing, on Node.
 *
 * @example
 * ```ts
 * import { ClientSession } from "@effect-mcp/session"
 * import { HttpFallbackClient } from "@effect-mcp/transport"
 * import * as Effect from "effect/Effect"
 * import * as Layer from "effect/Layer"
 *
 * // Whatever this server is, and whenever it was made.
 * const server = HttpFallbackClient.layerNode({ url: "https://example.com/sse" })
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
 * The transport as a Layer over the `fetch` that there is, for browsers and everywhere else.
 *
 * @example
 * ```ts
 * import { HttpFallbackClient } from "@effect-mcp/transport"
 *
 * export const server = HttpFallbackClient.layerFetch({ url: "https://example.com/mcp" })
 * ```
 *
 * @category layers
 * @since 0.1.0
 */
export const layerFetch = (options: Options): Layer.Layer<Transport.Transport> =>
  Layer.provide(layer(options), HttpClients.fetch)

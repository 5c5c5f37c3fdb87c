/**
 * The server side of HTTP+SSE, the transport of revision 2024-11-05, for clients that support nothing newer.
 *
 * It has two endpoints (SSE-01). A GET of one opens a session and its event stream, which carries all messages of the
 * server. A POST to the other carries one message of the client. The session ends with its stream, because HTTP+SSE has
 * no resumption. Messages can have any revision, as over any other transport.
 *
 * Both endpoints can stand beside Streamable HTTP, in front of the same {@link SessionHost} (SSE-09).
 *
 * @stability unstable
 */
import { LoadedPackages } from "@effect-mcp/protocol/internal"
import { NumericOption } from "@effect-mcp/session/internal"
import type * as SessionHost from "@effect-mcp/session/SessionHost"
import * as Effect from "effect/Effect"
import * as HttpRouter from "effect/http/HttpRouter"
import type { HttpServerRequest } from "effect/http/HttpServerRequest"
import type { HttpServerResponse } from "effect/http/HttpServerResponse"
import * as UrlParams from "effect/http/UrlParams"
import * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import type { Authentication } from "./Authentication.ts"
import type * as HttpServerOptions from "./HttpServerOptions.ts"
import * as HttpGuard from "./internal/http/server/HttpGuard.ts"
import * as HttpServerSettings from "./internal/http/server/HttpServerSettings.ts"
import * as HttpSseHandler from "./internal/http/server/sse/HttpSseHandler.ts"
import { messagesPath } from "./internal/http/server/sse/messagesPath.ts"
import * as StreamWatchdog from "./internal/http/server/StreamWatchdog.ts"
import { thisPackage } from "./internal/thisPackage.ts"

/**
 * The paths of the two endpoints (SSE-01), which may be equal.
 *
 * @category options
 */
export interface Paths {
  /** The path of the event stream. Default `/sse`. */
  readonly stream?: HttpRouter.PathInput | undefined
  /** The path for POSTs. Default `/messages`. */
  readonly messages?: HttpRouter.PathInput | undefined
}

/**
 * Options of a server; all are optional. A stream that its client does not read within `writeTimeout` is broken
 * off, and its session ends.
 *
 * @category options
 */
export interface Options extends HttpServerOptions.Options {
  /** The paths of the endpoints. */
  readonly paths?: Paths | undefined
  /**
   * The reference for POSTs that clients receive and resolve against the URL of the stream. The server adds the session
   * to its query. Set it if a proxy removes a part of the path: `"/notes/messages"`, or, relative to the stream,
   * `"messages"`. Default: the path for POSTs, with the prefix of the router.
   */
  readonly endpoint?: string | undefined
}

const rules: NumericOption.Rules<Options> = HttpServerSettings.rules

/**
 * The handlers of the two endpoints.
 *
 * @category models
 */
export interface Endpoints {
  /** Serves the path of the event stream. */
  readonly stream: (request: HttpServerRequest) => Effect.Effect<HttpServerResponse>
  /** Serves the path for POSTs. */
  readonly messages: (request: HttpServerRequest) => Effect.Effect<HttpServerResponse>
  /** Serves both endpoints at one path. */
  readonly both: (request: HttpServerRequest) => Effect.Effect<HttpServerResponse>
}

/**
 * Returns the server as handlers of requests, for a program with its own routes. Clients receive the path for POSTs in
 * the first event of their stream. The `Authentication` decides which requests are accepted (SSE-06). A stream ends
 * with its session.
 *
 * @example
 * ```ts
 * import { Content } from "@effect-mcp/protocol"
 * import { SessionHost } from "@effect-mcp/session"
 * import { Authentication, HttpSseServer } from "@effect-mcp/transport"
 * import * as Effect from "effect/Effect"
 * import * as HttpServerRequest from "effect/http/HttpServerRequest"
 * import * as Layer from "effect/Layer"
 *
 * const host = SessionHost.layer({
 *   "tools/call": () => Effect.succeed({ content: [Content.text("42")] })
 * }, { info: { name: "example", version: "1.0.0" } })
 *
 * export const status = Effect.gen(function*() {
 *   const { messages } = yield* HttpSseServer.makeHandlers()
 *   const request = new Request("http://localhost/messages?sessionId=unknown", {
 *     method: "POST",
 *     headers: { "content-type": "application/json" },
 *     body: "{}"
 *   })
 *   const response = yield* messages(HttpServerRequest.fromWeb(request))
 *   return response.status
 * }).pipe(Effect.scoped, Effect.provide(Layer.merge(host, Authentication.anonymous))) // => 404
 * ```
 *
 * @category constructors
 */
export const makeHandlers = Effect.fnUntraced(function*(
  options: Options = {}
): Effect.fn.Return<Endpoints, never, Authentication | SessionHost.SessionHost | Scope.Scope> {
  LoadedPackages.check(thisPackage)
  NumericOption.check(options, rules)
  const { endpoint, paths } = options
  const messagesOf = messagesPath(paths?.stream ?? "/sse", paths?.messages ?? "/messages")
  const settings = HttpServerSettings.make(options)
  const watchdog = yield* StreamWatchdog.make({
    ...settings,
    // Clients cannot reconnect to a stream, so no request is detached.
    detachedMillis: Number.POSITIVE_INFINITY
  })
  const guard = yield* HttpGuard.make(watchdog, settings)
  return yield* HttpSseHandler.make(guard, {
    watchdog,
    capacity: settings.maxStreamCharacters,
    endpoint: ({ originalUrl }) => endpoint ?? messagesOf(originalUrl),
    maxInitializeBytes: settings.maxInitializeBytes
  })
})

/**
 * Mounts the server in an HTTP backend, beside its other routes, such as `StreamableHttpServer.layer` (SSE-09).
 *
 * The host keeps the sessions. Build `SessionHost.layerDrain` on top of the backend: it ends the sessions first.
 * Without it, a backend that shuts down waits for their streams.
 *
 * The URL for POSTs has the session id in its query, as `sessionId`. With `Authentication.anonymous`, a sender that
 * knows this URL can act for the client. Keep it out of traces and logs;
 * {@link layerRedactedSessionParameter} keeps it out of Effect's spans.
 *
 * Provide the `Authentication` to this Layer. An `Authentication` that is merged beside it leaves the requirement open,
 * and the program does not compile.
 *
 * @example
 * ```ts
 * import { Content } from "@effect-mcp/protocol"
 * import { SessionHost } from "@effect-mcp/session"
 * import { Authentication, HttpSseServer, StreamableHttpServer } from "@effect-mcp/transport"
 * import * as NodeHttpServer from "@effect/platform-node/NodeHttpServer"
 * import * as Effect from "effect/Effect"
 * import * as HttpRouter from "effect/http/HttpRouter"
 * import * as Layer from "effect/Layer"
 * import { createServer } from "node:http"
 *
 * const host = SessionHost.layer({
 *   "tools/call": () => Effect.succeed({ content: [Content.text("42")] })
 * }, { info: { name: "example", version: "1.0.0" } })
 *
 * // Newer clients use /mcp, older ones /sse.
 * const routes = Layer.merge(StreamableHttpServer.layer(), HttpSseServer.layer())
 *
 * export const backend = SessionHost.layerDrain.pipe(
 *   Layer.provide(HttpRouter.serve(routes)),
 *   Layer.provide(NodeHttpServer.layerServer(() => createServer(), { port: 3000, host: "127.0.0.1" })),
 *   Layer.provide(host),
 *   Layer.provide(Authentication.anonymous)
 * )
 * ```
 *
 * @category layers
 */
export const layer = (
  options: Options = {}
): Layer.Layer<never, never, Authentication | HttpRouter.HttpRouter | SessionHost.SessionHost> =>
  HttpRouter.use((router) =>
    Effect.gen(function*() {
      const { both, messages, stream } = yield* makeHandlers(options)
      const { messages: messagesAt = "/messages", stream: streamAt = "/sse" } = options.paths ?? {}
      if (messagesAt === streamAt) return yield* router.add("*", streamAt, both)
      yield* router.add("*", streamAt, stream)
      yield* router.add("*", messagesAt, messages)
    })
  )

/**
 * Keeps session ids, which are part of the URLs for POSTs, out of the spans of a backend with {@link layer}. Provide it
 * to the Layer that serves; `layerNode` of `@effect-mcp/transport/node` includes it.
 *
 * @example
 * ```ts
 * import { SessionHost } from "@effect-mcp/session"
 * import { HttpSseServer } from "@effect-mcp/transport"
 * import type { HttpServer } from "effect/http/HttpServer"
 * import * as HttpRouter from "effect/http/HttpRouter"
 * import * as Layer from "effect/Layer"
 *
 * export const traced = <E, R>(server: Layer.Layer<HttpServer, E, R>) =>
 *   SessionHost.layerDrain.pipe(
 *     Layer.provide(HttpRouter.serve(HttpSseServer.layer())),
 *     Layer.provide(HttpSseServer.layerRedactedSessionParameter),
 *     Layer.provide(server)
 *   )
 * ```
 *
 * @category layers
 */
export const layerRedactedSessionParameter: Layer.Layer<never> = Layer.effect(
  UrlParams.CurrentRedactedNames,
  Effect.map(UrlParams.CurrentRedactedNames, (names) => [...names, HttpSseHandler.parameter])
)

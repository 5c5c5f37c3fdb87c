/**
 * The server half of HTTP+SSE, the transport of revision 2024-11-05, for clients that know nothing newer: one path for the stream of
 * events (SSE-01), on which all comes that the server says, and one to POST messages to. Behind them a {@link SessionHost} keeps a
 * session for each client. They can stand beside Streamable HTTP, in front of the same host (SSE-09).
 *
 * A GET of the stream opens a session, and the session ends with its stream: nobody can come back to one. Any revision can be spoken over
 * it, as over any other transport.
 *
 * @since 0.1.0
 */
import * as NumericOption from "@effect-mcp/session/NumericOption"
import * as SessionHost from "@effect-mcp/session/SessionHost"
import * as Effect from "effect/Effect"
import * as HttpRouter from "effect/http/HttpRouter"
import type { HttpServer } from "effect/http/HttpServer"
import type { ServeError } from "effect/http/HttpServerError"
import type { HttpServerRequest } from "effect/http/HttpServerRequest"
import type { HttpServerResponse } from "effect/http/HttpServerResponse"
import * as UrlParams from "effect/http/UrlParams"
import * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import type { Authentication } from "./Authentication.ts"
import type * as HttpServerOptions from "./HttpServerOptions.ts"
import * as HttpGuard from "./internal/http/server/HttpGuard.ts"
import * as HttpServerSettings from "./internal/http/server/HttpServerSettings.ts"
import * as NodeListener from "./internal/http/server/NodeListener.ts"
import * as HttpSseHandler from "./internal/http/server/sse/HttpSseHandler.ts"
import { messagesPath } from "./internal/http/server/sse/messagesPath.ts"
import * as StreamWatchdog from "./internal/http/server/StreamWatchdog.ts"

/**
 * Where the two endpoints are (SSE-01). Both may be at the same path.
 *
 * @category options
 * @since 0.1.0
 */
export interface Paths {
  /** The path of the stream. Default `/sse`. */
  readonly stream?: HttpRouter.PathInput | undefined
  /** The path that messages are POSTed to. Default `/messages`. */
  readonly messages?: HttpRouter.PathInput | undefined
}

/**
 * What may be said about a server; everything has a default.
 *
 * @category options
 * @since 0.1.0
 */
export interface Options extends HttpServerOptions.Options {
  /**
   * Where a client shall POST to, as a reference that it resolves against the URL of the stream; the session is added to its query. Say
   * it where a proxy takes something away from the path: `"/notes/messages"`, or, relative to the stream, `"messages"`. Default: the
   * path of messages, behind the prefix of the router, if it has one.
   */
  readonly endpoint?: string | undefined
}

const rules: NumericOption.Rules<Options> = HttpServerSettings.rules

/**
 * What serves the two endpoints.
 *
 * @category models
 * @since 0.1.0
 */
export interface Endpoints {
  /** Serves what comes to the path of the stream. */
  readonly stream: (request: HttpServerRequest) => Effect.Effect<HttpServerResponse>
  /** Serves what comes to the path of messages. */
  readonly messages: (request: HttpServerRequest) => Effect.Effect<HttpServerResponse>
  /** Serves both, where they are at the same path. */
  readonly both: (request: HttpServerRequest) => Effect.Effect<HttpServerResponse>
}

/**
 * The server as handlers of requests, for a program that routes them itself: the paths say only what the client is told.
 * The `Authentication` decides which requests are accepted (SSE-06). What is open ends with its session.
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
 *   const { messages } = yield* HttpSseServer.make()
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
 * @since 0.1.0
 */
export const make = Effect.fnUntraced(function*(
  paths: Paths = {},
  options: Options = {}
): Effect.fn.Return<Endpoints, never, Authentication | SessionHost.SessionHost | Scope.Scope> {
  NumericOption.check(options, rules)
  const { endpoint } = options
  const messagesOf = messagesPath(paths.stream ?? "/sse", paths.messages ?? "/messages")
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
 * Mounts the server in an HTTP backend, beside whatever else it has, such as `StreamableHttpServer.layer` (SSE-09). It needs a host,
 * which keeps the sessions of both. Build `SessionHost.layerDrain` behind the backend: it ends the sessions first, and a backend that
 * goes before them waits for their streams in vain.
 *
 * The URL that a client POSTs to names its session, in the query, as `sessionId`. With `Authentication.anonymous`, any
 * sender that knows the URL can act for the client. Keep it out of traces and logs: for the spans of Effect, {@link
 * layerRedacted} does.
 *
 * The `Authentication` is provided to this Layer. One that is merged beside it leaves the requirement open, so that the
 * program does not compile.
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
 * // New clients come to /mcp, old ones to /sse.
 * const routes = Layer.merge(StreamableHttpServer.layer("/mcp"), HttpSseServer.layer())
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
 * @since 0.1.0
 */
export const layer = (
  paths: Paths = {},
  options: Options = {}
): Layer.Layer<never, never, Authentication | HttpRouter.HttpRouter | SessionHost.SessionHost> =>
  HttpRouter.use((router) =>
    Effect.gen(function*() {
      const { both, messages, stream } = yield* make(paths, options)
      const { messages: messagesAt = "/messages", stream: streamAt = "/sse" } = paths
      if (messagesAt === streamAt) return yield* router.add("*", streamAt, both)
      yield* router.add("*", streamAt, stream)
      yield* router.add("*", messagesAt, messages)
    })
  )

/**
 * Keeps the ids of sessions, which stand in the URLs that clients POST to, out of the spans of a backend that {@link layer} is mounted
 * in. It goes below what serves; {@link layerNode} has it already.
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
 *     Layer.provide(HttpSseServer.layerRedacted),
 *     Layer.provide(server)
 *   )
 * ```
 *
 * @category layers
 * @since 0.1.0
 */
export const layerRedacted: Layer.Layer<never> = Layer.effect(
  UrlParams.CurrentRedactedNames,
  Effect.map(UrlParams.CurrentRedactedNames, (names) => [...names, HttpSseHandler.parameter])
)

/**
 * What may be said about a server that listens by itself.
 *
 * @category options
 * @since 0.1.0
 */
export interface NodeOptions extends Options, HttpServerOptions.ListenOptions {
  /** The paths of the endpoints. */
  readonly paths?: Paths | undefined
}

/**
 * A server of its own, on Node: it listens while the Layer is there. When it goes, its host lets nobody in any more and ends all
 * sessions, then their streams end, and then it stops to listen. `HttpServer` in its context says where it listens.
 *
 * @example
 * ```ts
 * import { Content } from "@effect-mcp/protocol"
 * import { SessionHost } from "@effect-mcp/session"
 * import { Authentication, HttpSseServer } from "@effect-mcp/transport"
 * import * as Effect from "effect/Effect"
 * import * as Layer from "effect/Layer"
 *
 * const host = SessionHost.layer({
 *   "tools/call": () => Effect.succeed({ content: [Content.text("42")] })
 * }, { info: { name: "example", version: "1.0.0" } })
 *
 * export const main = HttpSseServer.layerNode({ port: 3000 }).pipe(
 *   Layer.provide(host),
 *   Layer.provide(Authentication.anonymous),
 *   Layer.launch
 * )
 * ```
 *
 * @category layers
 * @since 0.1.0
 */
export const layerNode = (
  options: NodeOptions
): Layer.Layer<HttpServer, ServeError, Authentication | SessionHost.SessionHost> => {
  NumericOption.check(options, { ...rules, ...HttpServerSettings.listenRules })
  return NodeListener.listening(
    options,
    (closeConnections) => NodeListener.serving(layer(options.paths, options), closeConnections, SessionHost.layerDrain)
  ).pipe(Layer.provide(layerRedacted))
}

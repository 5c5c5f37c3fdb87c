/**
 * The server side of Streamable HTTP, for the revisions from 2025-03-26 to 2025-11-25, on one path of any Effect HTTP
 * backend.
 *
 * A POST carries one message, and its response is JSON or an event stream. A GET opens the standalone SSE stream, for
 * messages that belong to no request. A DELETE ends the session.
 *
 * - {@link make}, {@link layer}, {@link layerNode} and {@link toWebHandler} serve the sessions of a
 *   {@link SessionHost}. Handlers run in their session, so a lost connection cancels nothing.
 * - {@link makeSessionless}, {@link layerSessionless} and {@link layerNodeSessionless} serve each POST on its own and
 *   remember nothing between two requests.
 */
import { EventStore } from "@effect-mcp/session/EventStore"
import type * as Handlers from "@effect-mcp/session/Handlers"
import { NumericOption } from "@effect-mcp/session/internal"
import * as Limits from "@effect-mcp/session/Limits"
import * as SessionHost from "@effect-mcp/session/SessionHost"
import * as SessionlessServer from "@effect-mcp/session/SessionlessServer"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as HttpEffect from "effect/http/HttpEffect"
import * as HttpRouter from "effect/http/HttpRouter"
import type { HttpServer } from "effect/http/HttpServer"
import type { ServeError } from "effect/http/HttpServerError"
import { HttpServerRequest } from "effect/http/HttpServerRequest"
import type { HttpServerResponse } from "effect/http/HttpServerResponse"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import type * as Scope from "effect/Scope"
import type { Authentication } from "./Authentication.ts"
import type * as HttpServerOptions from "./HttpServerOptions.ts"
import { GuardedEventStore } from "./internal/http/server/GuardedEventStore.ts"
import * as HttpGuard from "./internal/http/server/HttpGuard.ts"
import * as HttpServerSettings from "./internal/http/server/HttpServerSettings.ts"
import * as NodeListener from "./internal/http/server/NodeListener.ts"
import * as PostResponse from "./internal/http/server/streamable/PostResponse.ts"
import * as StatefulHandler from "./internal/http/server/streamable/StatefulHandler.ts"
import * as StatelessHandler from "./internal/http/server/streamable/StatelessHandler.ts"
import * as StreamWatchdog from "./internal/http/server/StreamWatchdog.ts"

/**
 * Options of a server; all are optional.
 *
 * @category options
 */
export interface Options extends HttpServerOptions.Options {
  /**
   * The form of the response to a request. `"adaptive"` (the default): JSON if the reply is the first message and is
   * sent within `adaptiveTimeout`; otherwise an event stream. `"json"`: always JSON; messages that belong to a request
   * and are not its reply cannot be sent. `"stream"`: always an event stream.
   */
  readonly responseMode?: "adaptive" | "json" | "stream" | undefined
  /** The time without a message after which an adaptive response becomes an event stream. Default 1 second. */
  readonly adaptiveTimeout?: Duration.Input | undefined
  /**
   * The time that a request runs on after its client lost the response and did not reconnect. Then its handler is
   * interrupted. A lost connection alone cancels nothing (SHS-10). Default 5 minutes.
   */
  readonly detachedRequestTimeout?: Duration.Input | undefined
  /**
   * The delay after which a client should reconnect to a lost stream (SHS-05). It is sent if there is an `EventStore`.
   * Default 1 second.
   */
  readonly retryInterval?: Duration.Input | undefined
  /**
   * The timeout of one call of the `EventStore`. After a failed or late call, the event is sent without being stored,
   * and its stream cannot be resumed. A client that resumes a stream is rejected with 503. Default 5 seconds.
   */
  readonly eventStoreTimeout?: Duration.Input | undefined
}

const rules: NumericOption.Rules<Options> = {
  ...HttpServerSettings.rules,
  adaptiveTimeout: NumericOption.duration,
  detachedRequestTimeout: NumericOption.duration,
  retryInterval: NumericOption.duration,
  eventStoreTimeout: NumericOption.duration
}

/** Makes the dependencies of a server, with or without sessions. */
const prepare = Effect.fnUntraced(function*(options: Options) {
  NumericOption.check(options, rules)
  const settings = HttpServerSettings.make(options)
  const mode = options.responseMode ?? "adaptive"
  const detachedMillis = Duration.toMillis(options.detachedRequestTimeout ?? "5 minutes")
  const watchdog = yield* StreamWatchdog.make({ ...settings, detachedMillis })
  const guard = yield* HttpGuard.make(watchdog, settings)
  const responses = PostResponse.make({
    mode,
    adaptiveMillis: Duration.toMillis(options.adaptiveTimeout ?? "1 second")
  })
  const exchanges = { mode, watchdog, capacity: settings.maxStreamCharacters, detachedMillis }
  return { settings, guard, responses, exchanges }
})

/**
 * Returns the server as a handler of requests, independent of their path. An `EventStore` in the context makes streams
 * resumable. The `Authentication` decides which requests are accepted. A stream ends with its session.
 *
 * @example
 * ```ts
 * import { Content } from "@effect-mcp/protocol"
 * import { SessionHost } from "@effect-mcp/session"
 * import { Authentication, StreamableHttpServer } from "@effect-mcp/transport"
 * import * as Effect from "effect/Effect"
 * import * as HttpServerRequest from "effect/http/HttpServerRequest"
 * import * as Layer from "effect/Layer"
 *
 * const host = SessionHost.layer({
 *   "tools/call": () => Effect.succeed({ content: [Content.text("42")] })
 * }, { info: { name: "example", version: "1.0.0" } })
 *
 * export const status = Effect.gen(function*() {
 *   const handle = yield* StreamableHttpServer.make()
 *   const request = new Request("http://localhost/mcp", { method: "PUT" })
 *   const response = yield* handle(HttpServerRequest.fromWeb(request))
 *   return response.status
 * }).pipe(Effect.scoped, Effect.provide(Layer.merge(host, Authentication.anonymous))) // => 405
 * ```
 *
 * @category constructors
 */
export const make = Effect.fnUntraced(function*(
  options: Options = {}
): Effect.fn.Return<
  (request: HttpServerRequest) => Effect.Effect<HttpServerResponse>,
  never,
  Authentication | SessionHost.SessionHost | Scope.Scope
> {
  const { exchanges, guard, responses, settings } = yield* prepare(options)
  const store = Option.getOrUndefined(yield* Effect.serviceOption(EventStore))
  const storeMillis = Duration.toMillis(options.eventStoreTimeout ?? "5 seconds")
  return yield* StatefulHandler.make(guard, responses, {
    ...exchanges,
    store: store === undefined ? undefined : new GuardedEventStore(store, storeMillis, yield* Clock.Clock),
    maxInitializeBytes: settings.maxInitializeBytes,
    retryMillis: Duration.toMillis(options.retryInterval ?? "1 second")
  })
})

/** The handler of requests that {@link toWebHandler} builds. */
class Handler extends Context.Service<Handler, Effect.Success<ReturnType<typeof make>>>()(
  "@effect-mcp/transport/StreamableHttpServer/Handler"
) {}

/**
 * Returns the server as a function on web standards, for backends that are not written with Effect. `dispose` ends all
 * sessions and waits until they have ended. The Layer provides the host, the `Authentication`, and an `EventStore` if
 * streams shall be resumable.
 *
 * @example
 * ```ts
 * import { Content } from "@effect-mcp/protocol"
 * import { SessionHost } from "@effect-mcp/session"
 * import { Authentication, StreamableHttpServer } from "@effect-mcp/transport"
 * import * as Effect from "effect/Effect"
 * import * as Layer from "effect/Layer"
 *
 * const host = SessionHost.layer({
 *   "tools/call": () => Effect.succeed({ content: [Content.text("42")] })
 * }, { info: { name: "example", version: "1.0.0" } })
 *
 * const { dispose, handler } = StreamableHttpServer.toWebHandler(
 *   Layer.merge(host, Authentication.anonymous)
 * )
 *
 * export const status = Effect.promise(async () => {
 *   const { status } = await handler(new Request("https://example.com/mcp", { method: "PUT" }))
 *   await dispose()
 *   return status
 * }) // => 405
 * ```
 *
 * @category conversions
 */
export const toWebHandler = <E>(
  host: Layer.Layer<Authentication | SessionHost.SessionHost, E>,
  options?: Options
): { readonly handler: (request: Request) => Promise<globalThis.Response>; readonly dispose: () => Promise<void> } =>
  HttpEffect.toWebHandlerLayerWith(Layer.provide(Layer.effect(Handler, make(options)), host), {
    toHandler: (context) =>
      // Interruptible, so that an aborted `Request` counts as a lost connection.
      Effect.succeed(Effect.interruptible(Effect.flatMap(HttpServerRequest, Context.get(context, Handler))))
  })

/**
 * Mounts the server in an HTTP backend, on this path, beside the other routes and middleware of the backend.
 *
 * The host keeps the sessions. Build `SessionHost.layerDrain` on top of the backend: it ends the sessions first.
 * Without it, a backend that shuts down waits for their streams.
 *
 * Provide the `Authentication` to this Layer. An `Authentication` that is merged beside it leaves the requirement open,
 * and the program does not compile. `Authentication.anonymous` accepts every request.
 *
 * @example
 * ```ts
 * import { Content } from "@effect-mcp/protocol"
 * import { SessionHost } from "@effect-mcp/session"
 * import { Authentication, StreamableHttpServer } from "@effect-mcp/transport"
 * import * as NodeHttpServer from "@effect/platform-node/NodeHttpServer"
 * import * as Effect from "effect/Effect"
 * import * as HttpRouter from "effect/http/HttpRouter"
 * import * as HttpServerResponse from "effect/http/HttpServerResponse"
 * import * as Layer from "effect/Layer"
 * import { createServer } from "node:http"
 *
 * const host = SessionHost.layer({
 *   "tools/call": () => Effect.succeed({ content: [Content.text("42")] })
 * }, { info: { name: "example", version: "1.0.0" } })
 *
 * const routes = Layer.merge(
 *   StreamableHttpServer.layer("/mcp"),
 *   HttpRouter.add("GET", "/health", HttpServerResponse.text("well"))
 * )
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
  path: HttpRouter.PathInput,
  options?: Options
): Layer.Layer<never, never, Authentication | HttpRouter.HttpRouter | SessionHost.SessionHost> =>
  HttpRouter.use((router) => Effect.flatMap(make(options), (handle) => router.add("*", path, handle)))

/**
 * Options of a server with its own listener.
 *
 * @category options
 */
export interface NodeOptions extends Options, HttpServerOptions.ListenOptions {
  /** The path of the endpoint. Default `/mcp`. */
  readonly path?: HttpRouter.PathInput | undefined
}

/**
 * Runs the server on Node, on its own port, for as long as the Layer lives. Its context has an `HttpServer` with the
 * address. On shutdown, the host opens no more sessions and ends the existing ones, their responses end, and then the
 * listener closes.
 *
 * @example
 * ```ts
 * import { Content } from "@effect-mcp/protocol"
 * import { SessionHost } from "@effect-mcp/session"
 * import { Authentication, StreamableHttpServer } from "@effect-mcp/transport"
 * import * as Effect from "effect/Effect"
 * import * as Layer from "effect/Layer"
 *
 * const host = SessionHost.layer({
 *   "tools/call": () => Effect.succeed({ content: [Content.text("42")] })
 * }, { info: { name: "example", version: "1.0.0" } })
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
export const layerNode = (
  options: NodeOptions
): Layer.Layer<HttpServer, ServeError, Authentication | SessionHost.SessionHost> => {
  NumericOption.check(options, { ...rules, ...HttpServerSettings.listenRules })
  return NodeListener.listening(
    options,
    (closeConnections) =>
      NodeListener.serving(layer(options.path ?? "/mcp", options), closeConnections, SessionHost.layerDrain)
  )
}

/**
 * Options of a server without sessions: those of {@link Options} about HTTP, without resumable streams, and those of
 * `SessionlessServer.Options`. On shutdown, handlers may finish within `limits.gracefulTimeout`. One client may
 * have half of `limits.maxIncomingRequests` in flight, and of `limits.maxIncomingBytes`, so that there is always room
 * for another.
 *
 * @category options
 */
export interface SessionlessOptions<R = never>
  extends Omit<Options, "eventStoreTimeout" | "retryInterval">, SessionlessServer.Options<R>
{}

/** The services that a server without sessions needs for these handlers. */
type ServicesOf<H, R> = Exclude<Handlers.ServicesOf<H, "client"> | R, Scope.Scope>

const sessionless = Effect.fnUntraced(function*<const H extends Handlers.Handlers<"client", unknown>, R>(
  handlers: H & Handlers.Only<H, "client">,
  options: SessionlessOptions<R>
) {
  const { exchanges, guard, responses } = yield* prepare(options)
  const server = yield* SessionlessServer.make<H, R>(handlers, options)
  const gracefulMillis = Limits.make(options.limits).gracefulTimeout
  const handler = yield* StatelessHandler.make(server, guard, responses, { ...exchanges, gracefulMillis })
  yield* Effect.addFinalizer(() => handler.drain)
  return handler
})

/**
 * Returns a server without sessions as a handler of requests, independent of their path. Each POST is served on its
 * own. The server issues no session id and ignores those that clients send. GET and DELETE are rejected with 405,
 * because there is no stream to open and no session to end (SHS-13, SHS-28).
 *
 * The revision of a request is that of its header `MCP-Protocol-Version`, or 2025-03-26 without this header (SHS-29).
 * A request whose header or metadata names revision 2026-07-28 is served in this revision: its headers must match its
 * body, and a client that closes the response cancels the request. The `Authentication` decides which requests are
 * accepted. When the scope closes, requests in flight end.
 *
 * @example
 * ```ts
 * import { Content } from "@effect-mcp/protocol"
 * import { Authentication, StreamableHttpServer } from "@effect-mcp/transport"
 * import * as Effect from "effect/Effect"
 * import * as HttpEffect from "effect/http/HttpEffect"
 * import { HttpServerRequest } from "effect/http/HttpServerRequest"
 *
 * // For an environment that starts a process for each request.
 * export const status = Effect.gen(function*() {
 *   const handle = yield* StreamableHttpServer.makeSessionless({
 *     "tools/call": () => Effect.succeed({ content: [Content.text("42")] })
 *   }, { info: { name: "example", version: "1.0.0" } })
 *   const handler = HttpEffect.toWebHandler(Effect.flatMap(HttpServerRequest, handle))
 *   const response = yield* Effect.promise(() => handler(new Request("https://example.com/mcp")))
 *   return response.status
 * }).pipe(Effect.scoped, Effect.provide(Authentication.anonymous)) // => 405
 * ```
 *
 * @category constructors
 */
export const makeSessionless = <const H extends Handlers.Handlers<"client", unknown>, R = never>(
  handlers: H & Handlers.Only<H, "client">,
  options: SessionlessOptions<R>
): Effect.Effect<
  (request: HttpServerRequest) => Effect.Effect<HttpServerResponse>,
  never,
  Authentication | ServicesOf<H, R> | Scope.Scope
> => Effect.map(sessionless<H, R>(handlers, options), ({ handle }) => handle)

/**
 * Mounts a server without sessions in an HTTP backend; see {@link makeSessionless}. Any number of backends can serve
 * the same clients. A backend that shuts down first waits for open responses until the `gracefulShutdownTimeout` of
 * its HTTP server (20 seconds on Node). Then it breaks off requests in flight.
 *
 * @example
 * ```ts
 * import { Content } from "@effect-mcp/protocol"
 * import { Authentication, StreamableHttpServer } from "@effect-mcp/transport"
 * import * as Effect from "effect/Effect"
 * import * as HttpRouter from "effect/http/HttpRouter"
 * import * as HttpServerResponse from "effect/http/HttpServerResponse"
 * import * as Layer from "effect/Layer"
 *
 * export const backend = Layer.mergeAll(
 *   HttpRouter.add("GET", "/health", HttpServerResponse.text("fine")),
 *   StreamableHttpServer.layerSessionless("/mcp", {
 *     "tools/call": () => Effect.succeed({ content: [Content.text("42")] })
 *   }, { info: { name: "example", version: "1.0.0" } })
 * ).pipe(Layer.provide(Authentication.anonymous))
 * ```
 *
 * @category layers
 */
export const layerSessionless = <const H extends Handlers.Handlers<"client", unknown>, R = never>(
  path: HttpRouter.PathInput,
  handlers: H & Handlers.Only<H, "client">,
  options: SessionlessOptions<R>
): Layer.Layer<never, never, Authentication | HttpRouter.HttpRouter | ServicesOf<H, R>> =>
  HttpRouter.use((router) =>
    Effect.flatMap(makeSessionless<H, R>(handlers, options), (handle) => router.add("*", path, handle))
  )

/**
 * Runs a server without sessions on Node, on its own port, for as long as the Layer lives. Its context has an
 * `HttpServer` with the address. On shutdown it rejects new requests, handlers may finish within
 * `limits.gracefulTimeout`, every response ends, and then the listener closes.
 *
 * @example
 * ```ts
 * import { Content } from "@effect-mcp/protocol"
 * import { Authentication, StreamableHttpServer } from "@effect-mcp/transport"
 * import * as Effect from "effect/Effect"
 * import * as Layer from "effect/Layer"
 *
 * export const main = StreamableHttpServer.layerNodeSessionless({
 *   "tools/call": () => Effect.succeed({ content: [Content.text("42")] })
 * }, { info: { name: "example", version: "1.0.0" }, port: 3000 }).pipe(
 *   Layer.provide(Authentication.anonymous),
 *   Layer.launch
 * )
 * ```
 *
 * @category layers
 */
export const layerNodeSessionless = <const H extends Handlers.Handlers<"client", unknown>, R = never>(
  handlers: H & Handlers.Only<H, "client">,
  options: SessionlessOptions<R> & Omit<NodeOptions, keyof Options>
): Layer.Layer<HttpServer, ServeError, Authentication | ServicesOf<H, R>> => {
  NumericOption.check<HttpServerOptions.ListenOptions>(options, HttpServerSettings.listenRules)
  return NodeListener.listening(
    options,
    (closeConnections) =>
      Layer.unwrap(Effect.map(sessionless<H, R>(handlers, options), ({ drain, handle }) =>
        NodeListener.serving(
          HttpRouter.add("*", options.path ?? "/mcp", handle),
          closeConnections,
          Layer.effectDiscard(Effect.addFinalizer(() => drain))
        )))
  )
}

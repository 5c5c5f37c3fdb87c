/**
 * The server half of Streamable HTTP, for the revisions from 2025-03-26 to 2025-11-25: one path in any Effect HTTP backend, behind
 * which a {@link SessionHost} keeps a session for each client; or, where nothing shall be remembered between two requests, a server
 * without sessions.
 *
 * A POST brings one message and is answered with JSON or with a stream of events, a GET listens to what the server says on its own
 * account, and a DELETE ends the session. Handlers run in their sessions, so a client that loses its connection cancels nothing.
 *
 * @since 0.1.0
 */
import { EventStore } from "@effect-mcp/session/EventStore"
import type * as Handlers from "@effect-mcp/session/Handlers"
import * as NumericOption from "@effect-mcp/session/NumericOption"
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
import { GuardedEventStore } from "./internal/http/server/GuardedEventStore.ts"
import * as HttpGuard from "./internal/http/server/HttpGuard.ts"
import * as Initialize from "./internal/http/server/Initialize.ts"
import * as NodeListener from "./internal/http/server/NodeListener.ts"
import * as SseResponseBody from "./internal/http/server/SseResponseBody.ts"
import * as PostResponse from "./internal/http/server/streamable/PostResponse.ts"
import * as StatefulHandler from "./internal/http/server/streamable/StatefulHandler.ts"
import * as StatelessHandler from "./internal/http/server/streamable/StatelessHandler.ts"
import * as StreamWatchdog from "./internal/http/server/StreamWatchdog.ts"

/**
 * What may be said about a server; everything has a default.
 *
 * Clients without a principal are distinguished by their addresses (of IPv6, by the first 64 bits), so that none of
 * them keeps the others out. Behind a reverse proxy all requests come from its address: apply
 * `HttpMiddleware.xForwardedHeaders`, with the proxy among `trustedProxies`, or the proxy counts as one client.
 *
 * @category options
 * @since 0.1.0
 */
export interface Options {
  /**
   * How a request is answered. `"adaptive"` (the default): with JSON if the reply is the first thing there is to say, and
   * otherwise, or after `streamAfter`, with a stream of events. `"json"`: always with JSON; what belongs to a request but is not
   * its reply then has no route. `"stream"`: always with a stream.
   */
  readonly answer?: "adaptive" | "json" | "stream" | undefined
  /** How long an adaptive answer waits for something to say before it becomes a stream. Default 1 second. */
  readonly streamAfter?: Duration.Input | undefined
  /**
   * The names that this server may be asked for in `Host`, with or without a port; any other is answered with 403. Default: the
   * names of this machine where the HTTP server listens on this machine only, any name where it does not.
   */
  readonly allowedHosts?: ReadonlyArray<string> | undefined
  /**
   * The origins of pages that may use this server, such as `https://app.example.com`, or `"*"` for all; any other is answered with
   * 403 (HTTP-11, HTTP-12), and so is what a browser asks for without an origin on behalf of another page, such as a picture. Pages of
   * this machine may use a server on it. Default: none besides.
   */
  readonly allowedOrigins?: ReadonlyArray<string> | undefined
  /**
   * The longest time of one call of `Authentication.identify`. The request is then answered with 503. Default 10 seconds.
   */
  readonly identifyWithin?: Duration.Input | undefined
  /** How large the body of a request may be, in bytes; one that is larger is answered with 413. Default 4 MiB. */
  readonly bodyLimitBytes?: number | undefined
  /** The longest time in which the body of a request may arrive. Then it is answered with 408. Default 1 minute. */
  readonly bodyWithin?: Duration.Input | undefined
  /**
   * How many bytes the bodies of all requests may have together while they arrive. The slowest of them makes room: it
   * is answered with
   * 503. Default 64 MiB.
   */
  readonly bodiesLimitBytes?: number | undefined
  /**
   * How many requests of one connection are served at a time (HTTP/1.1 on Node). The next ones are answered with 429
   * and the connection is closed; twice as many destroy it. Default 8.
   */
  readonly pipelineLimit?: number | undefined
  /**
   * How many bytes of responses may wait on one connection for its client to read them, unless it is a single response
   * (HTTP/1.1 on Node). More destroy the connection. Default 4 MiB.
   */
  readonly unreadLimitBytes?: number | undefined
  /**
   * How many bytes of responses may wait on all connections together (HTTP/1.1 on Node). More destroy the connections
   * that have read nothing for longest. Default 128 MiB.
   */
  readonly unreadTotalBytes?: number | undefined
  /**
   * How many arrays, objects and members the JSON of a body may have; one with more is not parsed, and is answered with
   * 413. Parsing takes time and memory for each of them, and cannot be interrupted. Default 100,000.
   */
  readonly bodyLimitNodes?: number | undefined
  /**
   * How large `initialize` may be, in bytes; one that is larger is answered with 413. What a client says of itself is kept as long as
   * its session is. Default 64 KiB.
   */
  readonly initializeLimitBytes?: number | undefined
  /** How long a stream is silent at most; then a comment is sent. Default 15 seconds. */
  readonly keepAlive?: Duration.Input | undefined
  /** How much may wait for one reader of a stream before the sender waits, in characters. Default 1 Mi. */
  readonly streamBuffer?: number | undefined
  /**
   * How long a client may read nothing of a response, in JSON or of a stream, while something waits for it. Then the
   * connection is destroyed (of a stream on any platform, of JSON over HTTP/1.1 on Node). The client can resume a
   * stream if there is an `EventStore`. Less than `limits.write` of the sessions, which end whole when a message waits
   * that long. Default 20 seconds.
   */
  readonly stalledAfter?: Duration.Input | undefined
  /**
   * How long a request goes on whose client has lost its response and not come back; then its handler is interrupted. A lost
   * connection alone cancels nothing (SHS-10). Default 5 minutes.
   */
  readonly unattended?: Duration.Input | undefined
  /** How soon a client should come back to a stream that it lost (SHS-05). Default 1 second. */
  readonly retry?: Duration.Input | undefined
  /**
   * How long one call of the `EventStore` may take. A late call fails, as one that throws does: an event is sent
   * without being stored, and its stream cannot be resumed; a client that resumes a stream is answered with 503.
   * Default 5 seconds.
   */
  readonly storeWithin?: Duration.Input | undefined
}

const rules: NumericOption.Rules<Options> = {
  streamAfter: NumericOption.duration,
  identifyWithin: NumericOption.duration,
  bodyLimitBytes: NumericOption.count,
  bodyWithin: NumericOption.duration,
  bodiesLimitBytes: NumericOption.count,
  pipelineLimit: NumericOption.count,
  unreadLimitBytes: NumericOption.count,
  unreadTotalBytes: NumericOption.count,
  bodyLimitNodes: NumericOption.count,
  initializeLimitBytes: NumericOption.count,
  keepAlive: NumericOption.interval,
  streamBuffer: NumericOption.countFromZero,
  stalledAfter: NumericOption.duration,
  unattended: NumericOption.duration,
  retry: NumericOption.duration,
  storeWithin: NumericOption.duration
}

/** What a server needs, with sessions or without. */
const parts = Effect.fnUntraced(function*(options: Options) {
  NumericOption.check(options, rules)
  const mode = options.answer ?? "adaptive"
  const unattendedMillis = Duration.toMillis(options.unattended ?? "5 minutes")
  const attendant = yield* StreamWatchdog.make({
    keepAliveMillis: Duration.toMillis(options.keepAlive ?? "15 seconds"),
    stallMillis: HttpGuard.stallMillis(options),
    bodyMillis: HttpGuard.bodyMillis(options),
    unattendedMillis
  })
  const admission = yield* HttpGuard.make(attendant, options)
  const responses = PostResponse.make({
    mode,
    streamAfterMillis: Duration.toMillis(options.streamAfter ?? "1 second")
  })
  const exchanges = {
    mode,
    attendant,
    capacity: options.streamBuffer ?? SseResponseBody.defaultCapacity,
    unattendedMillis
  }
  return { admission, responses, exchanges }
})

/**
 * The server as a handler of requests, whatever path they came to. An `EventStore` in the context makes streams
 * resumable, and the `Authentication` decides which requests are accepted. What is open ends with its session.
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
 * @since 0.1.0
 */
export const make = Effect.fnUntraced(function*(
  options: Options = {}
): Effect.fn.Return<
  (request: HttpServerRequest) => Effect.Effect<HttpServerResponse>,
  never,
  Authentication | SessionHost.SessionHost | Scope.Scope
> {
  const { admission, exchanges, responses } = yield* parts(options)
  const store = Option.getOrUndefined(yield* Effect.serviceOption(EventStore))
  const storeMillis = Duration.toMillis(options.storeWithin ?? "5 seconds")
  const methods = yield* StatefulHandler.make(admission, responses, {
    ...exchanges,
    store: store === undefined ? undefined : new GuardedEventStore(store, storeMillis, yield* Clock.Clock),
    initializeLimitBytes: options.initializeLimitBytes ?? Initialize.defaultLimitBytes,
    retryMillis: Duration.toMillis(options.retry ?? "1 second")
  })
  return (request) => admission.admit(methods, request)
})

/** A handler of requests, made. */
class Handler extends Context.Service<Handler, Effect.Success<ReturnType<typeof make>>>()(
  "@effect-mcp/transport/StreamableHttpServer/Handler"
) {}

/**
 * The server as a function of web standards, for backends that are not written with Effect: any path, whatever runs it. `dispose`
 * ends all sessions and waits until they have ended. The Layer provides the host and the `Authentication`; an
 * `EventStore` that it provides besides is the server's.
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
 * @since 0.1.0
 */
export const toWebHandler = <E>(
  host: Layer.Layer<Authentication | SessionHost.SessionHost, E>,
  options?: Options
): { readonly handler: (request: Request) => Promise<globalThis.Response>; readonly dispose: () => Promise<void> } =>
  HttpEffect.toWebHandlerLayerWith(Layer.provide(Layer.effect(Handler, make(options)), host), {
    toHandler: (context) =>
      // Whoever aborts does not wait any more.
      Effect.succeed(Effect.interruptible(Effect.flatMap(HttpServerRequest, Context.get(context, Handler))))
  })

/**
 * Mounts the server in an HTTP backend, beside whatever else it has: its middleware and its other routes are none of the server's
 * business. It needs a host, which keeps the sessions. Build `SessionHost.layerDrain` behind the backend: it ends the sessions first,
 * and a backend that goes before them waits for their streams in vain.
 *
 * The `Authentication` is provided to this Layer. One that is merged beside it leaves the requirement open, so that the
 * program does not compile; `Authentication.anonymous` accepts every request.
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
 * @since 0.1.0
 */
export const layer = (
  path: HttpRouter.PathInput,
  options?: Options
): Layer.Layer<never, never, Authentication | HttpRouter.HttpRouter | SessionHost.SessionHost> =>
  HttpRouter.use((router) => Effect.flatMap(make(options), (handle) => router.add("*", path, handle)))

/**
 * What may be said about a server that listens by itself.
 *
 * @category options
 * @since 0.1.0
 */
export interface NodeOptions extends Options {
  /** The port to listen on; 0 for any that is free. */
  readonly port: number
  /** The address to listen on. Default: this machine only (HTTP-13). */
  readonly host?: string | undefined
  /** The path of the endpoint. Default `/mcp`. */
  readonly path?: HttpRouter.PathInput | undefined
}

/**
 * A server of its own, on Node: it listens while the Layer is there. When it goes, its host lets nobody in any more and ends all
 * sessions, then their responses end, and then it stops to listen. `HttpServer` in its context says where it listens.
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
 * @since 0.1.0
 */
export const layerNode = (
  options: NodeOptions
): Layer.Layer<HttpServer, ServeError, Authentication | SessionHost.SessionHost> => {
  NumericOption.check(options, { ...rules, port: NumericOption.port })
  return NodeListener.listening(
    options,
    (cut) => NodeListener.serving(layer(options.path ?? "/mcp", options), cut, SessionHost.layerDrain)
  )
}

/**
 * What may be said about a server without sessions: about HTTP what {@link Options} has, but that nobody can come back to a stream, and
 * about the server what `SessionlessServer.Options` has. When it goes, handlers may finish within
 * `limits.gracefulClose`. One client may have half of `limits.incoming` in flight, and of `limits.incomingBytes`, and a
 * newcomer always finds room.
 *
 * @category options
 * @since 0.1.0
 */
export interface SessionlessOptions<R = never>
  extends Omit<Options, "retry" | "storeWithin">, SessionlessServer.Options<R>
{}

/** The services that a server without sessions needs for these handlers. */
type ServicesOf<H, R> = Exclude<Handlers.ServicesOf<H, "client"> | R, Scope.Scope>

const sessionless = Effect.fnUntraced(function*<const H extends Handlers.Handlers<"client", unknown>, R>(
  handlers: H & Handlers.Only<H, "client">,
  options: SessionlessOptions<R>
) {
  const { admission, exchanges, responses } = yield* parts(options)
  const server = yield* SessionlessServer.make<H, R>(handlers, options)
  const { drain, methods } = yield* StatelessHandler.make(server, admission, responses, exchanges)
  yield* Effect.addFinalizer(() => drain)
  return { drain, handle: (request: HttpServerRequest) => admission.admit(methods, request) }
})

/**
 * A server without sessions as a handler of requests, whatever path they came to. Each POST is served for itself: no session id is
 * given, and none that comes is looked at; there is no stream to listen to and nothing to end, so that GET and DELETE are answered with
 * 405 (SHS-13, SHS-28). A request is in the revision that `MCP-Protocol-Version` says, and where nothing is said in 2025-03-26 (SHS-29).
 * The `Authentication` decides which requests are accepted. What is open when the scope closes is ended.
 *
 * @example
 * ```ts
 * import { Content } from "@effect-mcp/protocol"
 * import { Authentication, StreamableHttpServer } from "@effect-mcp/transport"
 * import * as Effect from "effect/Effect"
 * import * as HttpEffect from "effect/http/HttpEffect"
 * import { HttpServerRequest } from "effect/http/HttpServerRequest"
 *
 * // For an environment that starts a process when a request comes.
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
 * @since 0.1.0
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
 * Mounts a server without sessions in an HTTP backend, as {@link makeSessionless} makes it. Any number of backends can serve the same
 * clients. A backend that goes first waits for its responses, as long as its HTTP server is told to (`gracefulShutdownTimeout`, 20
 * seconds on Node); what is still served then is broken off.
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
 * @since 0.1.0
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
 * A server without sessions of its own, on Node: it listens while the Layer is there. When it goes, it lets nothing in any more, its
 * handlers may finish within `limits.gracefulClose`, every response ends, and then it stops to listen. `HttpServer` in its context says
 * where it listens.
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
 * @since 0.1.0
 */
export const layerNodeSessionless = <const H extends Handlers.Handlers<"client", unknown>, R = never>(
  handlers: H & Handlers.Only<H, "client">,
  options: SessionlessOptions<R> & Omit<NodeOptions, keyof Options>
): Layer.Layer<HttpServer, ServeError, Authentication | ServicesOf<H, R>> => {
  NumericOption.check<Pick<NodeOptions, "port">>(options, { port: NumericOption.port })
  return NodeListener.listening(
    options,
    (cut) =>
      Layer.unwrap(Effect.map(sessionless<H, R>(handlers, options), ({ drain, handle }) =>
        NodeListener.serving(
          HttpRouter.add("*", options.path ?? "/mcp", handle),
          cut,
          Layer.effectDiscard(Effect.addFinalizer(() => drain))
        )))
  )
}

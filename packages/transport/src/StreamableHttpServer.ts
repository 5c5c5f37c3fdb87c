/**
 * The server side of Streamable HTTP, for the revisions from 2025-03-26 to 2025-11-25, on one path of any Effect HTTP
 * backend, with the sessions of a {@link SessionHost}. Handlers run in their session, so a lost connection cancels
 * nothing. `StatelessHttpServer` serves each POST on its own instead.
 *
 * A POST carries one message, and its response is JSON or an event stream. A GET opens the standalone SSE stream, for
 * messages that belong to no request. A DELETE ends the session.
 *
 * @stability unstable
 */
import { LoadedPackages } from "@effect-mcp/protocol/internal"
import { EventStore } from "@effect-mcp/session/EventStore"
import { NumericOption } from "@effect-mcp/session/internal"
import type * as SessionHost from "@effect-mcp/session/SessionHost"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as HttpEffect from "effect/http/HttpEffect"
import * as HttpRouter from "effect/http/HttpRouter"
import { HttpServerRequest } from "effect/http/HttpServerRequest"
import type { HttpServerResponse } from "effect/http/HttpServerResponse"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import type * as Scope from "effect/Scope"
import type { Authentication } from "./Authentication.ts"
import type * as HttpServerOptions from "./HttpServerOptions.ts"
import { GuardedEventStore } from "./internal/http/server/GuardedEventStore.ts"
import * as StatefulHandler from "./internal/http/server/streamable/StatefulHandler.ts"
import * as StreamableParts from "./internal/http/server/streamable/StreamableParts.ts"
import { thisPackage } from "./internal/thisPackage.ts"

/**
 * Options of a server; all are optional.
 *
 * @category options
 */
export interface Options extends HttpServerOptions.StreamableOptions {
  /**
   * The delay after which a client should reconnect to a lost stream (SHS-05). It is sent if there is an `EventStore`.
   * Default 1 second.
   */
  readonly retryInterval?: Duration.Input | undefined
  /**
   * The timeout of one call of the `EventStore`. After a failed or late call, the event is sent without being stored,
   * and its stream cannot be resumed. A client that resumes a stream is rejected with 503. The end of a session waits
   * for the store for at most twice this time and a second, so it must be finite. Default 5 seconds.
   */
  readonly eventStoreTimeout?: Duration.Input | undefined
  /**
   * The most requests that are forwarded at a time to the processes that own their sessions, streams included. One
   * client has at most half of them, and two active ones a third each. One more request is rejected with 503. Clients
   * without a principal that come through one reverse proxy count as one client, unless a middleware sets their
   * addresses (`HttpServerOptions.Options`). Default 4,096. Only a server with `SessionOwners` forwards requests.
   */
  readonly maxForwardedRequests?: number | undefined
  /**
   * The time in which the response to a forwarded request must begin, after all of the request was sent. Then the
   * client receives the error `OutcomeUnknown`. A long body has `bodyTimeout` in addition. Default 30 seconds; 5
   * minutes if `responseMode` is `"json"`, because the response begins after the handler.
   */
  readonly forwardTimeout?: Duration.Input | undefined
}

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
 *   const handle = yield* StreamableHttpServer.makeHandler()
 *   const request = new Request("http://localhost/mcp", { method: "PUT" })
 *   const response = yield* handle(HttpServerRequest.fromWeb(request))
 *   return response.status
 * }).pipe(Effect.scoped, Effect.provide(Layer.merge(host, Authentication.anonymous))) // => 405
 * ```
 *
 * @category constructors
 */
export const makeHandler = Effect.fnUntraced(function*(
  options: Options = {}
): Effect.fn.Return<
  (request: HttpServerRequest) => Effect.Effect<HttpServerResponse>,
  never,
  Authentication | SessionHost.SessionHost | Scope.Scope
> {
  LoadedPackages.check(thisPackage)
  NumericOption.check(options, StreamableParts.sessionRules)
  const storeMillis = Duration.toMillis(options.eventStoreTimeout ?? "5 seconds")
  const { exchanges, guard, responses, settings } = yield* StreamableParts.make(options, storeMillis)
  const store = Option.getOrUndefined(yield* Effect.serviceOption(EventStore))
  return yield* StatefulHandler.make(guard, responses, {
    ...exchanges,
    store: store === undefined ? undefined : new GuardedEventStore(store, storeMillis, yield* Clock.Clock),
    maxInitializeBytes: settings.maxInitializeBytes,
    retryMillis: Duration.toMillis(options.retryInterval ?? "1 second"),
    forwarding: {
      bodyMillis: settings.bodyMillis,
      maxMessageNodes: settings.maxMessageNodes,
      maxForwardedRequests: options.maxForwardedRequests ?? 4096,
      keepAliveMillis: settings.keepAliveMillis,
      headersMillis: Duration.toMillis(
        options.forwardTimeout ?? (options.responseMode === "json" ? "5 minutes" : "30 seconds")
      )
    }
  })
})

/** The handler of requests that {@link toWebHandler} builds. */
class Handler extends Context.Service<Handler, Effect.Success<ReturnType<typeof makeHandler>>>()(
  "@effect-mcp/transport/StreamableHttpServer/Handler"
) {}

/**
 * Returns the server as a function on web standards, for workers and for backends that are not written with Effect.
 * The Layer provides the host, the `Authentication`, and an `EventStore` if streams shall be resumable. It is built
 * with the first request, because a worker permits no timers and no random values while it is loaded. If that fails,
 * each request rejects. `dispose` ends all sessions and waits until they have ended.
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
): { readonly handler: (request: Request) => Promise<globalThis.Response>; readonly dispose: () => Promise<void> } => {
  const make = () =>
    HttpEffect.toWebHandlerLayerWith(Layer.provide(Layer.effect(Handler, makeHandler(options)), host), {
      toHandler: (context) =>
        // Interruptible, so that an aborted `Request` counts as a lost connection.
        Effect.succeed(Effect.interruptible(Effect.flatMap(HttpServerRequest, Context.get(context, Handler))))
    })
  let made: ReturnType<typeof make> | undefined
  return {
    handler: (request) => (made ??= make()).handler(request),
    dispose: () => (made ??= make()).dispose()
  }
}

/**
 * Mounts the server in an HTTP backend, on its path, beside the other routes and middleware of the backend.
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
 *   StreamableHttpServer.layer(),
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
  options: Options = {}
): Layer.Layer<never, never, Authentication | HttpRouter.HttpRouter | SessionHost.SessionHost> =>
  HttpRouter.use((router) =>
    Effect.flatMap(makeHandler(options), (handle) => router.add("*", options.path ?? "/mcp", handle))
  )

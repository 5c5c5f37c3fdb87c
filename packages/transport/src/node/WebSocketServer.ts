/**
 * The server of MCP over WebSocket: one path in any Effect HTTP backend on Node. A {@link SessionHost} keeps a session
 * for each connection. The specification has no WebSocket transport; this one is compatible with the official SDK. Its
 * subprotocol is `mcp`, with one JSON-RPC message in each text message.
 *
 * All checks precede the upgrade and are answered over plain HTTP:
 *
 * | status | request |
 * |---|---|
 * | 400 | does not offer the subprotocol `mcp`, unless `subprotocol` is `"optional"` |
 * | 401 | is not authenticated |
 * | 403 | has a `Host` or `Origin` that is not allowed |
 * | 405 | has another method than GET |
 * | 426 | is not an upgrade to a WebSocket of version 13 |
 * | 503 | finds the host full or shutting down |
 *
 * A message above `maxMessageBytes` costs only itself. One above the limit of the HTTP server closes the connection
 * with 1009, and invalid UTF-8 closes it with 1007. A binary message is read as if it were text. Nothing is compressed.
 *
 * An open connection holds its session, so the session does not end for being idle. Pings detect dead clients. The
 * session ends with its connection and cannot be resumed.
 *
 * The close frame has the reason why the session ended, from either side:
 *
 * | code | reason |
 * |---|---|
 * | 1000 | the sender closed this session, or the peer ended it |
 * | 1001 | the server shuts down |
 * | 4000 | `HandshakeFailed` |
 * | 4001 | `HandshakeTimeout` |
 * | 4002 | `Expired` |
 * | 4003 | `PeerStalled` |
 * | 4004 | `RepliesOverflow` |
 * | 4005 | `TransportFailed` |
 * | 4006 | `Evicted` |
 * | 4007 | `Superseded` |
 *
 * 1000, 1001 and a close frame without a code are a normal end. Any other code, and a connection that ends without a
 * close frame, is a failure of the transport.
 *
 * @stability unstable
 */
import { LoadedPackages } from "@effect-mcp/protocol/internal"
import { NumericOption } from "@effect-mcp/session/internal"
import { MemoryBudget } from "@effect-mcp/session/MemoryBudget"
import type * as SessionHost from "@effect-mcp/session/SessionHost"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as HttpRouter from "effect/http/HttpRouter"
import type { HttpServer } from "effect/http/HttpServer"
import type { ServeError } from "effect/http/HttpServerError"
import type { HttpServerRequest } from "effect/http/HttpServerRequest"
import type { HttpServerResponse } from "effect/http/HttpServerResponse"
import type * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import type { Authentication } from "../Authentication.ts"
import type * as HttpServerOptions from "../HttpServerOptions.ts"
import * as HttpGuard from "../internal/http/server/HttpGuard.ts"
import * as HttpServerSettings from "../internal/http/server/HttpServerSettings.ts"
import * as NodeListener from "../internal/http/server/NodeListener.ts"
import * as StreamWatchdog from "../internal/http/server/StreamWatchdog.ts"
import * as IncomingMessages from "../internal/shared/IncomingMessages.ts"
import { thisPackage } from "../internal/thisPackage.ts"
import * as WebSocketHandler from "../internal/websocket/server/WebSocketHandler.ts"
import * as WebSocketUpgrade from "../internal/websocket/server/WebSocketUpgrade.ts"
import * as WebSocketSettings from "../internal/websocket/WebSocketSettings.ts"

/**
 * Options of a WebSocket server; all are optional.
 *
 * @category options
 */
export interface Options extends HttpServerOptions.AccessOptions {
  /** The path of the endpoint, where the server chooses it: `makeHandler` serves any path. Default `/mcp`. */
  readonly path?: HttpRouter.PathInput | undefined
  /**
   * The largest message to read, in bytes. Default 4 MiB. A larger one is not read and is rejected with −32700 without
   * an id, so the client of a request that large waits until its deadline.
   */
  readonly maxMessageBytes?: number | undefined
  /**
   * The most arrays, objects and members of a message to read; an integer beyond 2^53 counts as eight. Default 100,000.
   * A message with more is not parsed and is rejected with −32700 without an id: parsing takes time and memory for each
   * of them, and cannot be interrupted.
   */
  readonly maxMessageNodes?: number | undefined
  /**
   * The largest `initialize` request, in bytes. A larger one is rejected like a message that is too large, because the
   * session keeps its content in memory. Default 64 KiB.
   */
  readonly maxInitializeBytes?: number | undefined
  /**
   * The most bytes of unfinished messages on all connections together; up to 64 KiB of each connection do not count.
   * Beyond it, the connection whose message began first is closed. Default 64 MiB. The `MemoryBudget` is charged for
   * the bytes, too.
   */
  readonly maxTotalIncomingBytes?: number | undefined
  /**
   * The interval of liveness checks. A client that was silent since the previous check is pinged. If it is still silent
   * at the next check, the connection fails; that takes two to three intervals. `"Infinity"` disables the checks, and
   * the shortest interval is 1 second. Default 15 seconds.
   */
  readonly keepAliveInterval?: Duration.Input | undefined
  /**
   * The time that a client has to answer a close frame, or to read an error response, before its socket is destroyed.
   * Default 2 seconds.
   */
  readonly closeTimeout?: Duration.Input | undefined
  /**
   * Whether a client must offer the subprotocol `mcp`. With `"optional"`, a client that does not offer it is accepted
   * without a subprotocol. Default `"required"`, which keeps out clients of other protocols.
   */
  readonly subprotocol?: "required" | "optional" | undefined
}

const rules: NumericOption.Rules<Options> = {
  ...HttpServerSettings.accessRules,
  maxMessageBytes: NumericOption.count,
  maxMessageNodes: NumericOption.count,
  maxInitializeBytes: NumericOption.count,
  maxTotalIncomingBytes: NumericOption.count,
  keepAliveInterval: NumericOption.duration,
  closeTimeout: NumericOption.duration
}

/**
 * Creates the server as a handler of requests to any path. The `Authentication` decides which requests are accepted. A
 * connection ends with its session, and at the latest with the scope.
 *
 * @example
 * ```ts
 * import { Content } from "@effect-mcp/protocol"
 * import { SessionHost } from "@effect-mcp/session"
 * import { Authentication, WebSocketServer } from "@effect-mcp/transport/node"
 * import * as Effect from "effect/Effect"
 * import * as HttpServerRequest from "effect/http/HttpServerRequest"
 * import * as Layer from "effect/Layer"
 *
 * const host = SessionHost.layer({
 *   "tools/call": () => Effect.succeed({ content: [Content.text("42")] })
 * }, { info: { name: "example", version: "1.0.0" } })
 *
 * export const status = Effect.gen(function*() {
 *   const handle = yield* WebSocketServer.makeHandler()
 *   const request = new Request("http://localhost/mcp")
 *   const response = yield* handle(HttpServerRequest.fromWeb(request))
 *   return response.status
 * }).pipe(Effect.scoped, Effect.provide(Layer.merge(host, Authentication.anonymous))) // => 426
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
  NumericOption.check(options, rules)
  const { allowedHosts, allowedOrigins, identifyTimeout, maxInitializeBytes } = options
  // The limits of messages are those of WebSocket messages, and not of the requests that are upgraded. Of HTTP, a
  // client can leave unread only what rejects its requests.
  const settings = HttpServerSettings.make({ allowedHosts, allowedOrigins, identifyTimeout, maxInitializeBytes })
  const watchdog = yield* StreamWatchdog.make({
    ...settings,
    keepAliveMillis: Number.POSITIVE_INFINITY,
    detachedMillis: Number.POSITIVE_INFINITY
  })
  const guard = yield* HttpGuard.make(watchdog, settings)
  const closeMillis = Duration.toMillis(options.closeTimeout ?? "2 seconds")
  const handle = yield* WebSocketHandler.make(guard, {
    limits: WebSocketSettings.messageLimits(options),
    maxInitializeBytes: settings.maxInitializeBytes,
    incoming: IncomingMessages.make(yield* MemoryBudget, options.maxTotalIncomingBytes),
    pingMillis: Duration.toMillis(options.keepAliveInterval ?? "15 seconds"),
    closeMillis,
    subprotocol: options.subprotocol ?? "required"
  })
  return (request) => {
    WebSocketUpgrade.destroyAfter(request, closeMillis)
    return handle(request)
  }
})

/**
 * Mounts the server in an HTTP backend on Node, beside other routes, such as Streamable HTTP with the same host. The
 * backend receives each message whole and bounds its size (`websocket.maxPayload`, 100 MiB by default).
 *
 * Provide the backend to `SessionHost.layerDrain`, as the example does, so that the sessions end first. A backend that
 * shuts down before them waits for their connections until its `gracefulShutdownTimeout`.
 *
 * Provide the `Authentication` to this Layer; merging one beside it leaves the requirement open, and the program does
 * not compile. `Authentication.anonymous` accepts every request.
 *
 * @example
 * ```ts
 * import { Content } from "@effect-mcp/protocol"
 * import { SessionHost } from "@effect-mcp/session"
 * import { Authentication, StreamableHttpServer, WebSocketServer } from "@effect-mcp/transport/node"
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
 * const routes = Layer.merge(
 *   StreamableHttpServer.layer(),
 *   WebSocketServer.layer({ path: "/mcp/socket" })
 * )
 *
 * export const backend = SessionHost.layerDrain.pipe(
 *   Layer.provide(HttpRouter.serve(routes)),
 *   Layer.provide(NodeHttpServer.layerServer(() => createServer(), {
 *     port: 3000,
 *     host: "127.0.0.1",
 *     websocket: { maxPayload: 16 * 1024 * 1024 }
 *   })),
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

/**
 * Options of a server with its own listener.
 *
 * @category options
 */
export interface NodeOptions extends Options, HttpServerOptions.ListenOptions {
  /**
   * The largest message to receive, in bytes; a larger one closes the connection with 1009. It is at most the length of
   * a string on Node (512 MiB). Default: four times `maxMessageBytes`.
   */
  readonly maxPayloadBytes?: number | undefined
}

/**
 * Runs the server on Node, on its own port, for as long as the Layer lives. On shutdown the host accepts no new
 * sessions and drains the existing ones, each client receives a close frame, and then the listener closes. Its context
 * has an `HttpServer` with the address.
 *
 * @example
 * ```ts
 * import { Content } from "@effect-mcp/protocol"
 * import { SessionHost } from "@effect-mcp/session"
 * import { Authentication, WebSocketServer } from "@effect-mcp/transport/node"
 * import * as Effect from "effect/Effect"
 * import * as Layer from "effect/Layer"
 *
 * const host = SessionHost.layer({
 *   "tools/call": () => Effect.succeed({ content: [Content.text("42")] })
 * }, { info: { name: "example", version: "1.0.0" } })
 *
 * export const main = WebSocketServer.layerNode({ port: 3000 }).pipe(
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
  NumericOption.check(options, { ...rules, maxPayloadBytes: NumericOption.count, ...HttpServerSettings.listenRules })
  const { hostname, port } = options
  return NodeListener.hosting(
    { port, hostname, websocket: { maxPayload: WebSocketSettings.maxPayload(options) } },
    layer(options)
  )
}

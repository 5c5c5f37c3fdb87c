/**
 * The server half of MCP over WebSocket: one path in any Effect HTTP backend on Node, behind which a {@link SessionHost} keeps a
 * session for each connection. WebSocket is no transport of the specification's; it is spoken as the official SDK speaks it, under the
 * subprotocol `mcp` with one JSON-RPC message in each text message.
 *
 * Everything is checked before the upgrade, and answered as plain HTTP: 403 for a `Host` or `Origin` that may not come, 401 for nobody
 * in particular, 405 for another method than GET, 426 for a request that does not ask for a WebSocket of version 13, 400 for one that
 * does not offer `mcp` (unless `subprotocol` is `"optional"`), and 503 where the host is full or about to go.
 *
 * A message that is longer than allowed costs only itself, up to what the HTTP server takes at all; what is longer still closes the
 * connection with 1009, as invalid UTF-8 does with 1007. A binary message is read as if it were text. Nothing is compressed.
 *
 * A session is held for as long as its connection is there, so that it is not idle though nothing is said; a client that is gone without
 * a word is found out by pings. There is nothing to come back to: with the connection the session ends.
 *
 * The close frame says why the session has ended, from either side:
 *
 * | code | reason |
 * |---|---|
 * | 1000 | this session was closed, or the peer has ended it |
 * | 1001 | the server goes |
 * | 4000 | `HandshakeFailed` |
 * | 4001 | `HandshakeTimeout` |
 * | 4002 | `Expired` |
 * | 4003 | `PeerStalled` |
 * | 4004 | `RepliesOverflow` |
 * | 4005 | `TransportFailed` |
 * | 4006 | `Evicted` |
 *
 * 1000, 1001, and a close frame without a code are an end in good order; every other, and a connection that ends without a close
 * frame, is a failure of the transport.
 *
 * @since 0.1.0
 */
import { MemoryBudget } from "@effect-mcp/session/MemoryBudget"
import * as NumericOption from "@effect-mcp/session/NumericOption"
import * as SessionHost from "@effect-mcp/session/SessionHost"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as HttpRouter from "effect/http/HttpRouter"
import type { HttpServer } from "effect/http/HttpServer"
import type { ServeError } from "effect/http/HttpServerError"
import type { HttpServerRequest } from "effect/http/HttpServerRequest"
import type { HttpServerResponse } from "effect/http/HttpServerResponse"
import type * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import type { Authentication } from "./Authentication.ts"
import type * as HttpServerOptions from "./HttpServerOptions.ts"
import * as HttpGuard from "./internal/http/server/HttpGuard.ts"
import * as HttpServerSettings from "./internal/http/server/HttpServerSettings.ts"
import * as NodeListener from "./internal/http/server/NodeListener.ts"
import * as StreamWatchdog from "./internal/http/server/StreamWatchdog.ts"
import * as IncomingMessages from "./internal/shared/IncomingMessages.ts"
import { receivableBytes } from "./internal/websocket/receivableBytes.ts"
import * as WebSocketHandler from "./internal/websocket/server/WebSocketHandler.ts"
import * as WebSocketUpgrade from "./internal/websocket/server/WebSocketUpgrade.ts"
import * as WebSocketLimits from "./internal/websocket/webSocketLimits.ts"

/**
 * What may be said about a server; everything has a default.
 *
 * @category options
 * @since 0.1.0
 */
export interface Options extends HttpServerOptions.AccessOptions {
  /**
   * The longest message to read, in bytes. Default 4 MiB. A longer one is answered with −32700, without an id, since it was not read:
   * whoever has sent a request as long as that waits for it until its deadline.
   */
  readonly messageLimitBytes?: number | undefined
  /**
   * The most arrays, objects and members of a message to read. The default is 100,000. A message with more is answered
   * with −32700, without an id, since it was not parsed: parsing takes time and memory for each of them, and cannot be
   * interrupted.
   */
  readonly messageLimitNodes?: number | undefined
  /**
   * How long `initialize` may be, in bytes; a longer one is taken for a message that is too long. What a client says of itself is kept
   * as long as its session is. Default 64 KiB.
   */
  readonly maxInitializeBytes?: number | undefined
  /**
   * The most bytes of unfinished messages on all connections together; up to 64 KiB of each connection do not count.
   * Beyond it, the connection whose message began first is closed. Default 64 MiB. The bytes are charged to the
   * `MemoryBudget`, too.
   */
  readonly unfinishedLimitBytes?: number | undefined
  /**
   * How often it is looked whether a client is still there. One that has said nothing since the look before is pinged; one that has
   * not even answered that by the next is given up, which is so after two to three times as long. `"Infinity"` never looks; less than a
   * second is taken for one. Default 15 seconds.
   */
  readonly ping?: Duration.Input | undefined
  /** How long a client may take to answer a close frame, or to take a refusal; then its connection is cut off. Default 2 seconds. */
  readonly closeWithin?: Duration.Input | undefined
  /**
   * Whether a client has to offer the subprotocol `mcp`. With `"optional"`, a client that does not offer it is accepted
   * without a subprotocol. Default `"required"`, because it keeps out clients of other protocols.
   */
  readonly subprotocol?: "required" | "optional" | undefined
}

const rules: NumericOption.Rules<Options> = {
  ...HttpServerSettings.accessRules,
  messageLimitBytes: NumericOption.count,
  messageLimitNodes: NumericOption.count,
  maxInitializeBytes: NumericOption.count,
  unfinishedLimitBytes: NumericOption.count,
  ping: NumericOption.duration,
  closeWithin: NumericOption.duration
}

/**
 * The server as a handler of requests, whatever path they came to. The `Authentication` decides which requests are
 * accepted. What is open ends with its session, and at the latest with the scope.
 *
 * @example
 * ```ts
 * import { Content } from "@effect-mcp/protocol"
 * import { SessionHost } from "@effect-mcp/session"
 * import { Authentication, WebSocketServer } from "@effect-mcp/transport"
 * import * as Effect from "effect/Effect"
 * import * as HttpServerRequest from "effect/http/HttpServerRequest"
 * import * as Layer from "effect/Layer"
 *
 * const host = SessionHost.layer({
 *   "tools/call": () => Effect.succeed({ content: [Content.text("42")] })
 * }, { info: { name: "example", version: "1.0.0" } })
 *
 * export const status = Effect.gen(function*() {
 *   const handle = yield* WebSocketServer.make()
 *   const request = new Request("http://localhost/mcp")
 *   const response = yield* handle(HttpServerRequest.fromWeb(request))
 *   return response.status
 * }).pipe(Effect.scoped, Effect.provide(Layer.merge(host, Authentication.anonymous))) // => 426
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
  NumericOption.check(options, rules)
  // Of HTTP, a client can leave unread only what rejects its requests.
  const settings = HttpServerSettings.make(options)
  const watchdog = yield* StreamWatchdog.make({
    ...settings,
    keepAliveMillis: Number.POSITIVE_INFINITY,
    detachedMillis: Number.POSITIVE_INFINITY
  })
  const guard = yield* HttpGuard.make(watchdog, settings)
  const closeMillis = Duration.toMillis(options.closeWithin ?? "2 seconds")
  const methods = yield* WebSocketHandler.make({
    limits: WebSocketLimits.ofMessages(options),
    maxInitializeBytes: settings.maxInitializeBytes,
    incoming: IncomingMessages.make(yield* MemoryBudget, options.unfinishedLimitBytes),
    pingMillis: Duration.toMillis(options.ping ?? "15 seconds"),
    closeMillis,
    subprotocol: options.subprotocol ?? "required"
  })
  return (request) => {
    WebSocketUpgrade.letGoWithin(request, closeMillis)
    return guard.admit(methods, request)
  }
})

/**
 * Mounts the server in an HTTP backend on Node, beside whatever else it has, such as Streamable HTTP with the same host. How long a
 * message may be that is received at all is for the backend to say (`websocket.maxPayload`, 100 MiB by default), since it receives it
 * whole.
 *
 * Build `SessionHost.layerDrain` behind the backend: it ends the sessions first, and a backend that goes before them waits for their
 * connections in vain, for as long as its `gracefulShutdownTimeout` says.
 *
 * The `Authentication` is provided to this Layer. One that is merged beside it leaves the requirement open, so that the
 * program does not compile; `Authentication.anonymous` accepts every request.
 *
 * @example
 * ```ts
 * import { Content } from "@effect-mcp/protocol"
 * import { SessionHost } from "@effect-mcp/session"
 * import { Authentication, StreamableHttpServer, WebSocketServer } from "@effect-mcp/transport"
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
 *   StreamableHttpServer.layer("/mcp"),
 *   WebSocketServer.layer("/mcp/socket")
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
export interface NodeOptions extends Options, HttpServerOptions.ListenOptions {
  /** The path of the endpoint. Default `/mcp`. */
  readonly path?: HttpRouter.PathInput | undefined
  /**
   * The longest message that is received at all, in bytes; a longer one closes the connection with 1009. It is never more than a
   * string of Node can have (512 MiB). Default: four times `messageLimitBytes`.
   */
  readonly payloadLimitBytes?: number | undefined
}

/**
 * A server of its own, on Node: it listens while the Layer is there. When it goes, its host lets nobody in any more and ends all
 * sessions, each client is told so, and then it stops to listen. `HttpServer` in its context says where it listens.
 *
 * @example
 * ```ts
 * import { Content } from "@effect-mcp/protocol"
 * import { SessionHost } from "@effect-mcp/session"
 * import { Authentication, WebSocketServer } from "@effect-mcp/transport"
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
 * @since 0.1.0
 */
export const layerNode = (
  options: NodeOptions
): Layer.Layer<HttpServer, ServeError, Authentication | SessionHost.SessionHost> => {
  NumericOption.check(options, { ...rules, payloadLimitBytes: NumericOption.count, ...HttpServerSettings.listenRules })
  return NodeListener.listening(
    {
      port: options.port,
      hostname: options.hostname,
      websocket: {
        maxPayload: receivableBytes(WebSocketLimits.payloadBytes(options))
      }
    },
    (closeConnections) =>
      NodeListener.serving(layer(options.path ?? "/mcp", options), closeConnections, SessionHost.layerDrain)
  )
}

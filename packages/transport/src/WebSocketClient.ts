/**
 * The client of MCP over WebSocket: one connection with the subprotocol `mcp`, and one JSON-RPC message in each text
 * message. {@link layer} works over any WebSocket, also in browsers. `layerNode` of `@effect-mcp/transport/node` sends
 * headers, detects a dead server, and reports why a server rejected the connection.
 *
 * Both sides send the same close codes; see `WebSocketServer`.
 *
 * @stability unstable
 */
import { LoadedPackages } from "@effect-mcp/protocol/internal"
import * as Transport from "@effect-mcp/session/Transport"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type { WebSocketConstructor } from "effect/socket/Socket"
import { thisPackage } from "./internal/thisPackage.ts"
import { settings } from "./internal/websocket/client/ClientSettings.ts"

/**
 * Options of a WebSocket client.
 *
 * @category options
 */
export interface Options {
  /** The endpoint of the server, such as `wss://example.com/mcp`; `https:` means the same as `wss:`. */
  readonly url: string | URL
  /**
   * The largest message to read, in bytes. Default 4 MiB. A larger one is not read and is reported as an event. If it
   * was a response, its request waits until its deadline.
   */
  readonly maxMessageBytes?: number | undefined
  /**
   * The most arrays, objects and members of a message to read; an integer beyond 2^53 counts as eight. Default 100,000.
   * A message with more is not parsed and is reported as an event: parsing takes time and memory for each of them, and
   * cannot be interrupted.
   */
  readonly maxMessageNodes?: number | undefined
  /** The time that the connection has to open. Default 10 seconds. */
  readonly connectTimeout?: Duration.Input | undefined
  /** The time that the server has to answer a close frame, before the socket is destroyed. Default 2 seconds. */
  readonly closeTimeout?: Duration.Input | undefined
}

// Loaded on first use: a program that uses only stdio must not pay for it.
const loaded = Effect.promise(() => import("./internal/websocket/client/WebSocketClientConnection.ts"))

/**
 * Creates the transport as a value, over the `WebSocketConstructor` in the context. Each `connect` is a session of its
 * own, so one transport carries any number of sessions. `connect` fails with `ConnectFailed` if there is no server, or
 * if it does not select the subprotocol.
 *
 * `run` ends when the server closes the connection normally. It fails with `ReadFailed` if the close code is an error,
 * or if the connection breaks without a close frame. `send` suspends while 1 MiB waits for a server that does not read.
 * Closing the scope sends the close code for the reason why the session ended.
 *
 * @example
 * ```ts
 * import { ClientSession, Transport } from "@effect-mcp/session"
 * import { WebSocketClient } from "@effect-mcp/transport"
 * import * as Effect from "effect/Effect"
 *
 * const info = { name: "example", version: "1.0.0" }
 *
 * // Two sessions with one server.
 * export const two = Effect.gen(function*() {
 *   const transport = yield* WebSocketClient.make({ url: "wss://example.com/mcp" })
 *   const session = Effect.provideService(ClientSession.make({ info }), Transport.Transport, transport)
 *   return yield* Effect.all([session, session])
 * })
 * ```
 *
 * @category constructors
 */
export const make = (
  options: Options
): Effect.Effect<Transport.Transport["Service"], never, WebSocketConstructor> =>
  Effect.gen(function*() {
    LoadedPackages.check(thisPackage)
    const { WebSocketConstructor } = yield* Effect.promise(() => import("effect/socket/Socket"))
    const construct = yield* WebSocketConstructor
    const connection = yield* loaded
    return connection.makeStandard(settings(options), construct)
  })

/**
 * Provides the transport over any WebSocket; {@link layerGlobal} does so over the global one. It cannot send headers,
 * distinguish a dead server from a silent one, or report why a server rejected the connection, because browsers permit
 * none of these. On Node, `layerNode` of `@effect-mcp/transport/node` does.
 *
 * @example
 * ```ts
 * import { WebSocketClient } from "@effect-mcp/transport"
 * import * as Layer from "effect/Layer"
 * import * as Socket from "effect/socket/Socket"
 *
 * export const inBrowser = Layer.provide(
 *   WebSocketClient.layer({ url: "wss://example.com/mcp" }),
 *   Socket.layerWebSocketConstructorGlobal
 * )
 * ```
 *
 * @category layers
 */
export const layer = (options: Options): Layer.Layer<Transport.Transport, never, WebSocketConstructor> =>
  Layer.effect(Transport.Transport, make(options))

/**
 * Provides the transport over the global `WebSocket`, for browsers and all other platforms. See {@link layer}.
 *
 * @example
 * ```ts
 * import { WebSocketClient } from "@effect-mcp/transport"
 *
 * export const server = WebSocketClient.layerGlobal({ url: "wss://example.com/mcp" })
 * ```
 *
 * @category layers
 */
export const layerGlobal = (options: Options): Layer.Layer<Transport.Transport> =>
  Layer.unwrap(Effect.map(
    Effect.promise(() => import("effect/socket/Socket")),
    ({ layerWebSocketConstructorGlobal }) => Layer.provide(layer(options), layerWebSocketConstructorGlobal)
  ))

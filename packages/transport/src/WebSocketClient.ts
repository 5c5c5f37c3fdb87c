/**
 * The client half of MCP over WebSocket: one connection, under the subprotocol `mcp`, with one JSON-RPC message in each text message.
 * {@link layer} stands on any WebSocket, and so works in browsers; {@link layerNode} has headers of its own, finds out whether the
 * server is still there, and says why a server refuses.
 *
 * What close frames say is the same from both sides; see `WebSocketServer`.
 *
 * @since 0.1.0
 */
import * as NumericOption from "@effect-mcp/session/NumericOption"
import * as Transport from "@effect-mcp/session/Transport"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type { WebSocketConstructor } from "effect/socket/Socket"
import { headersOf } from "./internal/http/client/headersOf.ts"
import type { NodeSettings, Settings } from "./internal/websocket/client/WebSocketClientConnection.ts"
import * as WebSocketLimits from "./internal/websocket/webSocketLimits.ts"
import type { HeaderValues } from "./StreamableHttpClient.ts"

/**
 * Where the server is, and how long to wait for it.
 *
 * @category options
 * @since 0.1.0
 */
export interface Options {
  /** The server's path for WebSockets, such as `wss://example.com/mcp`; `https:` says the same as `wss:`. */
  readonly url: string | URL
  /**
   * The longest message to read, in bytes. The default is 4 MiB. A longer one is not read, which an event says: a request that it would
   * have answered waits until its deadline.
   */
  readonly messageLimitBytes?: number | undefined
  /**
   * The most arrays, objects and members of a message to read. The default is 100,000. A message with more is not
   * parsed, which an event says: parsing takes time and memory for each of them, and cannot be interrupted.
   */
  readonly messageLimitNodes?: number | undefined
  /** How long the server may take until the connection is open. The default is 10 seconds. */
  readonly connectWithin?: Duration.Input | undefined
  /** How long the server may take to answer a close frame; then the connection is cut off. The default is 2 seconds. */
  readonly closeWithin?: Duration.Input | undefined
}

/**
 * What may be said besides on Node.
 *
 * @category options
 * @since 0.1.0
 */
export interface NodeOptions extends Options {
  /** Headers of the request for the WebSocket; an effect is run for each connection. */
  readonly headers?: HeaderValues | Effect.Effect<HeaderValues> | undefined
  /**
   * Is asked when the server answers 401, with what it says about how to prove who asks (`WWW-Authenticate`). The headers it gives
   * are sent from then on, beginning with another try. Without them, and without this option, connecting fails with
   * `Unauthenticated`.
   */
  readonly authorize?:
    | ((challenge: string | undefined) => Effect.Effect<HeaderValues | undefined>)
    | undefined
  /**
   * The longest message that is received at all, in bytes; a longer one closes the connection with 1009. It is never more than a
   * string of Node can have (512 MiB). The default is four times `messageLimitBytes`.
   */
  readonly payloadLimitBytes?: number | undefined
  /**
   * How often it is looked whether the server is still there. One that has said nothing since the look before is pinged; one that has
   * not even answered that by the next is given up, which is so after two to three times as long. `"Infinity"` never looks; less than a
   * second is taken for one. The default is 15 seconds.
   */
  readonly ping?: Duration.Input | undefined
}

const rules: NumericOption.Rules<Options> = {
  messageLimitBytes: NumericOption.count,
  messageLimitNodes: NumericOption.count,
  connectWithin: NumericOption.duration,
  closeWithin: NumericOption.duration
}

const settings = (options: Options): Settings => {
  NumericOption.check(options, rules)
  return {
    url: options.url,
    limits: WebSocketLimits.ofMessages(options),
    connectMillis: Duration.toMillis(options.connectWithin ?? "10 seconds"),
    closeMillis: Duration.toMillis(options.closeWithin ?? "2 seconds")
  }
}

const nodeSettings = (options: NodeOptions): NodeSettings => {
  NumericOption.check(options, { ...rules, payloadLimitBytes: NumericOption.count, ping: NumericOption.duration })
  const { authorize, headers, ping } = options
  return {
    ...settings(options),
    payloadLimitBytes: WebSocketLimits.payloadBytes(options),
    pingMillis: Duration.toMillis(ping ?? "15 seconds"),
    headers: headersOf(headers),
    authorize
  }
}

// Loaded when it is used: a program that speaks over stdio must not pay for it.
const loaded = Effect.promise(() => import("./internal/websocket/client/WebSocketClientConnection.ts"))

/**
 * The transport as a value, over whatever makes WebSockets. Each `connect` is a session of its own, so it carries any number of
 * sessions; it fails with `ConnectFailed` where there is no server, or none that selects the subprotocol.
 *
 * `run` ends when the server closes the connection in good order, and fails with `ReadFailed` where it closes with a code that says
 * otherwise, or is cut off. `send` suspends while 1 MiB waits for a server that does not read. Leaving the scope closes with the code
 * that says why the session has ended.
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
 * @since 0.1.0
 */
export const make = (
  options: Options
): Effect.Effect<Transport.Transport["Service"], never, WebSocketConstructor> =>
  Effect.gen(function*() {
    const { WebSocketConstructor } = yield* Effect.promise(() => import("effect/socket/Socket"))
    const construct = yield* WebSocketConstructor
    const connection = yield* loaded
    return connection.makeBare(settings(options), construct)
  })

/**
 * The transport as a Layer over any WebSocket. It cannot send headers, tell a server that is gone without a word from one that is
 * silent, or say why a server has refused: no browser lets a page do so.
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
 * @since 0.1.0
 */
export const layer = (options: Options): Layer.Layer<Transport.Transport, never, WebSocketConstructor> =>
  Layer.effect(Transport.Transport, make(options))

/**
 * The transport as a Layer that needs nothing, on Node. Beside what {@link make} says, connecting fails with
 *
 * - `Unauthenticated` when the server does not know who asks;
 * - `Rejected` when it refuses the upgrade with another status, or with a redirect, which is never followed.
 *
 * `run` fails with `ReadFailed` when nothing is heard of the server any more.
 *
 * @example
 * ```ts
 * import { ClientSession } from "@effect-mcp/session"
 * import { WebSocketClient } from "@effect-mcp/transport"
 * import * as Effect from "effect/Effect"
 * import * as Layer from "effect/Layer"
 * import * as Redacted from "effect/Redacted"
 *
 * const server = WebSocketClient.layerNode({
 *   url: "wss://example.com/mcp",
 *   headers: { authorization: Redacted.make(`Bearer ${process.env["EXAMPLE_TOKEN"]}`) }
 * })
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
export const layerNode = (options: NodeOptions): Layer.Layer<Transport.Transport> =>
  Layer.effect(
    Transport.Transport,
    Effect.map(loaded, (connection) => connection.makeNode(nodeSettings(options)))
  )

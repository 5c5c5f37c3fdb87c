/**
 * The client of Unix domain sockets. It connects to a server that listens at a path of this machine. Each line is one
 * message, as over stdio (TRN-04). The server runs before its clients, and serves many.
 *
 * {@link layer} works over any socket of Effect, such as one of TCP or TLS.
 */
import { NumericOption } from "@effect-mcp/session/internal"
import * as Transport from "@effect-mcp/session/Transport"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { Socket } from "effect/socket/Socket"
import * as UnixSocketClientConnection from "./internal/unix/UnixSocketClientConnection.ts"

/**
 * Options for the connections of a client; all are optional.
 *
 * @category options
 */
export interface Options {
  /** The largest message to read, in bytes. Default 4 MiB. */
  readonly maxMessageBytes?: number | undefined
  /**
   * The most arrays, objects and members of a message to read; an integer beyond 2^53 counts as eight. Default 100,000.
   * A message with more is not parsed and is reported as an event: parsing takes time and memory for each of them, and
   * cannot be interrupted.
   */
  readonly maxMessageNodes?: number | undefined
  /** The most bytes that wait for a server that does not read, before `send` suspends. Default 1 MiB. */
  readonly maxSendBufferBytes?: number | undefined
  /** The time that the server has to read the last messages when the scope closes. Default 3 seconds. */
  readonly closeTimeout?: Duration.Input | undefined
}

/**
 * Options of a client on Node.
 *
 * @category options
 */
export interface NodeOptions extends Options {
  /** The path of the server's socket. */
  readonly path: string
}

const rules: NumericOption.Rules<Options> = {
  maxMessageBytes: NumericOption.count,
  maxMessageNodes: NumericOption.count,
  maxSendBufferBytes: NumericOption.countFromZero,
  closeTimeout: NumericOption.duration
}

/**
 * Creates the transport as a value, over the `Socket` in the context. It carries one session at a time, because a
 * `Socket` has one writer: a second `connect` fails with `InUse` until the first session has ended. `connect` fails
 * with `ConnectFailed` if the socket does not open.
 *
 * `run` ends with the server's side of the socket, and fails with `ReadFailed` or `WriteFailed` if the connection
 * breaks. A line that is not JSON is delivered as a failed frame. `send` suspends while `maxSendBufferBytes` wait for
 * the server. Closing the scope writes what was sent and closes the socket.
 *
 * @example
 * ```ts
 * import { ClientSession, Transport } from "@effect-mcp/session"
 * import { UnixSocketClient } from "@effect-mcp/transport"
 * import * as NodeSocket from "@effect/platform-node/NodeSocket"
 * import * as Effect from "effect/Effect"
 *
 * // A session over TCP.
 * export const session = Effect.gen(function*() {
 *   const transport = yield* UnixSocketClient.make()
 *   const session = ClientSession.make({ info: { name: "example", version: "1.0.0" } })
 *   return yield* Effect.provideService(session, Transport.Transport, transport)
 * }).pipe(
 *   Effect.provide(NodeSocket.layerNet({ host: "127.0.0.1", port: 7000 }))
 * )
 * ```
 *
 * @category constructors
 */
export const make = (options: Options = {}): Effect.Effect<Transport.Transport["Service"], never, Socket> =>
  Effect.map(Socket, (socket) => {
    NumericOption.check(options, rules)
    return { connect: UnixSocketClientConnection.openSocket(socket, options) }
  })

/**
 * Provides the transport over any socket of Effect.
 *
 * @example
 * ```ts
 * import { UnixSocketClient } from "@effect-mcp/transport"
 * import * as NodeSocket from "@effect/platform-node/NodeSocket"
 * import * as Layer from "effect/Layer"
 *
 * export const overTls = (identity: { readonly key: string; readonly cert: string; readonly ca: string }) =>
 *   Layer.provide(
 *     UnixSocketClient.layer({ maxMessageBytes: 64 * 1024 }),
 *     NodeSocket.layerTls({ ...identity, host: "mcp.example.com", port: 7000 })
 *   )
 * ```
 *
 * @category layers
 */
export const layer = (options?: Options): Layer.Layer<Transport.Transport, never, Socket> =>
  Layer.effect(Transport.Transport, make(options))

/**
 * Provides the transport on Node, for the server that listens at a path. Each `connect` opens another socket, so one
 * transport carries any number of sessions and never fails with `InUse`. `connect` fails with `ConnectFailed`, with the
 * path as the target. Its cause is `ENOENT` if there is no file, `ECONNREFUSED` if no server listens, and `EACCES` if
 * the mode of the file does not permit it.
 *
 * @example
 * ```ts
 * import { ClientSession } from "@effect-mcp/session"
 * import { UnixSocketClient } from "@effect-mcp/transport"
 * import * as Effect from "effect/Effect"
 * import * as Layer from "effect/Layer"
 *
 * const server = UnixSocketClient.layerNode({ path: "/run/example/mcp.sock" })
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
 */
export const layerNode = (options: NodeOptions): Layer.Layer<Transport.Transport> => {
  NumericOption.check(options, rules)
  return Layer.succeed(Transport.Transport, { connect: UnixSocketClientConnection.openPath(options.path, options) })
}

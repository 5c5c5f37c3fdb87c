/**
 * The client of sockets: Unix domain sockets, TCP, and any other `Socket` of Effect, such as one over TLS. Each line is
 * one message, as over stdio (TRN-04). The server runs before its clients, and serves many.
 *
 * @stability unstable
 */
import { NumericOption } from "@effect-mcp/session/internal"
import * as Transport from "@effect-mcp/session/Transport"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { Socket } from "effect/socket/Socket"
import * as SocketClientConnection from "../internal/socket/SocketClientConnection.ts"

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
 * Options of a client of a Unix domain socket.
 *
 * @category options
 */
export interface UnixOptions extends Options {
  /** The path of the server's socket. */
  readonly path: string
}

/**
 * Options of a client over TCP.
 *
 * @category options
 */
export interface TcpOptions extends Options {
  readonly port: number
  /** The name or the address of the server's machine. Default `127.0.0.1`. */
  readonly host?: string | undefined
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
 * import { SocketClient } from "@effect-mcp/transport/node"
 * import * as NodeSocket from "@effect/platform-node/NodeSocket"
 * import * as Effect from "effect/Effect"
 *
 * // A session over TCP.
 * export const session = Effect.gen(function*() {
 *   const transport = yield* SocketClient.make()
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
    return { connect: SocketClientConnection.openSocket(socket, options) }
  })

/**
 * Provides the transport over any socket of Effect.
 *
 * @example
 * ```ts
 * import { SocketClient } from "@effect-mcp/transport/node"
 * import * as NodeSocket from "@effect/platform-node/NodeSocket"
 * import * as Layer from "effect/Layer"
 *
 * export const overTls = (identity: { readonly key: string; readonly cert: string; readonly ca: string }) =>
 *   Layer.provide(
 *     SocketClient.layer({ maxMessageBytes: 64 * 1024 }),
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
 * import { SocketClient } from "@effect-mcp/transport/node"
 * import * as Effect from "effect/Effect"
 * import * as Layer from "effect/Layer"
 *
 * const server = SocketClient.layerUnix({ path: "/run/example/mcp.sock" })
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
export const layerUnix = (options: UnixOptions): Layer.Layer<Transport.Transport> => {
  NumericOption.check(options, rules)
  const { path } = options
  return Layer.succeed(Transport.Transport, {
    connect: SocketClientConnection.openAddress({ path }, path, options)
  })
}

/**
 * Provides the transport over TCP, on Node. Each `connect` opens another connection. It is neither encrypted nor
 * authenticated: use {@link layer} over TLS beyond this machine. `connect` fails with `ConnectFailed`, with the host
 * and the port as the target.
 *
 * @example
 * ```ts
 * import { SocketClient } from "@effect-mcp/transport/node"
 *
 * export const server = SocketClient.layerTcp({ port: 7000 })
 * ```
 *
 * @category layers
 */
export const layerTcp = (options: TcpOptions): Layer.Layer<Transport.Transport> => {
  NumericOption.check(options, { ...rules, port: NumericOption.count })
  const { host = "127.0.0.1", port } = options
  return Layer.succeed(Transport.Transport, {
    connect: SocketClientConnection.openAddress({ host, port }, `${host}:${port}`, options)
  })
}

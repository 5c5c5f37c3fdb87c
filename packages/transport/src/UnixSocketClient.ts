/**
 * The client half of Unix domain sockets: MCP with a server that listens at a path of this machine, one message a line, as stdio has
 * it (TRN-04). No process is started; the server is there before its clients, and serves many.
 *
 * @since 0.1.0
 */
import * as NumericOption from "@effect-mcp/session/NumericOption"
import * as Transport from "@effect-mcp/session/Transport"
import * as TransportError from "@effect-mcp/session/TransportError"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import * as Net from "node:net"
import { unwrapCause } from "./internal/shared/unwrapCause.ts"
import { socketOfNode } from "./internal/unix/socketOfNode.ts"
import * as UnixSocketConnection from "./internal/unix/UnixSocketConnection.ts"

/**
 * Where the server listens, and how much to take from it.
 *
 * @category options
 * @since 0.1.0
 */
export interface Options {
  /** The path of the server's socket. */
  readonly path: string
  /** The longest message to read, in bytes. The default is 4 MiB. */
  readonly messageLimitBytes?: number | undefined
  /**
   * The most arrays, objects and members of a message to read. The default is 100,000. A message with more is not
   * parsed, which an event says: parsing takes time and memory for each of them, and cannot be interrupted.
   */
  readonly messageLimitNodes?: number | undefined
  /** How many bytes may wait for a server that does not read before `send` does. The default is 1 MiB. */
  readonly sendBufferBytes?: number | undefined
  /** How long the end of the scope waits for a server that does not read what was sent. The default is 3 seconds. */
  readonly flushWithin?: Duration.Input | undefined
}

/** Whoever reads or writes tells of an error. One that nobody listened to would end the process. */
const unheard = () => {}

/** Waits until the socket is open, or fails as it does. */
const opened = (socket: Net.Socket): Effect.Effect<void, unknown> =>
  Effect.callback<void, unknown>((resume) => {
    // A fiber may yield on its way here, and what happens meanwhile tells nobody.
    if (socket.destroyed) return resume(Effect.fail(socket.errored))
    if (!socket.connecting) return resume(Effect.void)
    const onConnect = () => resume(Effect.void)
    const onError = (cause: Error) => resume(Effect.fail(cause))
    socket.once("connect", onConnect).once("error", onError)
    return Effect.sync(() => socket.off("connect", onConnect).off("error", onError))
  })

const open = Effect.fnUntraced(function*(
  options: Options
): Effect.fn.Return<Transport.Connection, TransportError.TransportError, Scope.Scope> {
  const failed = (cause: unknown) =>
    TransportError.make({ _tag: "ConnectFailed", target: options.path, cause: unwrapCause(cause) })
  // Node would connect by TCP.
  if (options.path === "") return yield* failed(new Error("the path is empty"))
  const node = yield* Effect.acquireRelease(
    Effect.sync(() => Net.connect({ path: options.path }).on("error", unheard)),
    (socket) => Effect.sync(() => socket.destroy())
  )
  yield* Effect.mapError(opened(node), failed)
  const socket = yield* socketOfNode(node)
  return yield* Effect.mapError(UnixSocketConnection.open(socket, node, options), failed)
})

/**
 * The transport as a value. Each `connect` opens a socket of its own, so it carries any number of sessions and never fails with
 * `InUse`. It fails with `ConnectFailed`, with the path as the target, when nothing is there (`ENOENT`), nobody listens there
 * (`ECONNREFUSED`) or others may not (`EACCES`).
 *
 * `run` ends when the server's side does, and fails with `ReadFailed` or `WriteFailed` when the connection breaks. Lines that are no
 * JSON are delivered as frames that failed. `send` suspends while `sendBufferBytes` wait for the server. Leaving the scope writes what
 * was sent, and closes the socket.
 *
 * @example
 * ```ts
 * import { ClientSession, Transport } from "@effect-mcp/session"
 * import { UnixSocketClient } from "@effect-mcp/transport"
 * import * as Effect from "effect/Effect"
 *
 * const info = { name: "example", version: "1.0.0" }
 *
 * // Two sessions with one server, each over a socket of its own.
 * const transport = UnixSocketClient.make({ path: "/run/example/mcp.sock" })
 * const session = Effect.provideService(ClientSession.make({ info }), Transport.Transport, transport)
 * export const two = Effect.all([session, session])
 * ```
 *
 * @category constructors
 * @since 0.1.0
 */
export const make = (options: Options): Transport.Transport["Service"] => {
  NumericOption.check(options, {
    messageLimitBytes: NumericOption.count,
    messageLimitNodes: NumericOption.count,
    sendBufferBytes: NumericOption.countFromZero,
    flushWithin: NumericOption.duration
  })
  return { connect: open(options) }
}

/**
 * The transport as a Layer that needs nothing, on Node.
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
 * @since 0.1.0
 */
export const layerNode = (options: Options): Layer.Layer<Transport.Transport> =>
  Layer.succeed(Transport.Transport, make(options))

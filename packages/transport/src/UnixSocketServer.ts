/**
 * The server half of Unix domain sockets: listens at a path of this machine, and has a {@link SessionHost} keep a session for each
 * client that connects, one message a line, as stdio has it (TRN-04).
 *
 * Who may connect is said by the mode of the socket's file. A client that has stopped sending still gets its replies; one that is not
 * let in is told why. It is not for Windows, whose pipes are no files.
 *
 * @since 0.1.0
 */
import { MemoryBudget } from "@effect-mcp/session/MemoryBudget"
import * as NumericOption from "@effect-mcp/session/NumericOption"
import * as SessionHost from "@effect-mcp/session/SessionHost"
import * as NodeSocket from "@effect/platform-node/NodeSocket"
import * as Data from "effect/Data"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import { SocketServer } from "effect/socket/SocketServer"
import * as IncomingMessages from "./internal/shared/IncomingMessages.ts"
import * as InitializeRequest from "./internal/shared/InitializeRequest.ts"
import { SessionPerConnection } from "./internal/shared/SessionPerConnection.ts"
import * as UnixListener from "./internal/unix/UnixListener.ts"
import * as UnixSocketHandler from "./internal/unix/UnixSocketHandler.ts"

/**
 * What may be said about the connections of a server; everything has a default.
 *
 * @category options
 * @since 0.1.0
 */
export interface Options {
  /**
   * The longest message to read, in bytes. The default is 4 MiB. A longer one is answered with −32700, without an id, since it was not
   * read: whoever has sent a request as long as that waits for it until its deadline.
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
   * as long as its session is. The default is 64 KiB.
   */
  readonly maxInitializeBytes?: number | undefined
  /**
   * The most bytes of unfinished messages on all connections together; up to 64 KiB of each connection do not count.
   * Beyond it, the connection whose message began first is closed. The default is 64 MiB. The bytes are charged to the
   * `MemoryBudget`, too.
   */
  readonly unfinishedLimitBytes?: number | undefined
  /** How many bytes may wait for a client that does not read before `send` does. The default is 1 MiB. */
  readonly sendBufferBytes?: number | undefined
  /** How long the end of a session waits for a client that does not read what was sent. The default is 3 seconds. */
  readonly flushWithin?: Duration.Input | undefined
}

/**
 * What may be said about a server that listens by itself.
 *
 * @category options
 * @since 0.1.0
 */
export interface NodeOptions extends Options {
  /**
   * Where to listen. The directory has to be there, and may have 97 bytes on Linux, 93 elsewhere; the whole path may have 107, and 103.
   */
  readonly path: string
  /** The mode of the socket's file: who may write to it may connect. The default is `0o600`, the user of this process. */
  readonly mode?: number | undefined
}

const rules: NumericOption.Rules<Options> = {
  messageLimitBytes: NumericOption.count,
  messageLimitNodes: NumericOption.count,
  maxInitializeBytes: NumericOption.count,
  unfinishedLimitBytes: NumericOption.count,
  sendBufferBytes: NumericOption.countFromZero,
  flushWithin: NumericOption.duration
}

const causeInWords = (cause: unknown): string => cause instanceof Error ? cause.message : String(cause)

/**
 * Nobody can connect at this path: a server listens there already, or there is something that is no socket, or the system does not
 * allow it. `cause` says which.
 *
 * @example
 * ```ts
 * import { UnixSocketServer } from "@effect-mcp/transport"
 *
 * export const message = new UnixSocketServer.ListenFailed({
 *   path: "/run/example/mcp.sock",
 *   cause: new Error("a server listens there already")
 * }).message // => "could not listen at /run/example/mcp.sock: a server listens there already"
 * ```
 *
 * @category errors
 * @since 0.1.0
 */
export class ListenFailed extends Data.TaggedError("ListenFailed")<{
  readonly path: string
  readonly cause: unknown
}> {
  override get message(): string {
    return `could not listen at ${this.path}: ${causeInWords(this.cause)}`
  }
}

/**
 * Serves whoever connects to the `SocketServer` in the context, whatever it listens to. Tell it `allowHalfOpen`: without it, a client
 * that stops sending gets no reply any more. It needs a host, which keeps the sessions. When the Layer goes, it ends those that it has
 * opened; build `SessionHost.layerDrain` behind it to have clients told meanwhile why they are not let in.
 *
 * A connection that is open holds its session: `host.idle` is not for clients that are there, `host.age` is. One for which the host
 * has no room is answered with −32010 under the id of its first message, and closed.
 *
 * A client over TCP is asked by its keep-alive whether its machine is still there, since its silence would say nothing.
 *
 * A port of TCP is open to every program of the machine, and through a POST, whose body has lines like any other, to every page in a
 * browser on it. Nothing here asks who speaks, so let only those in who can prove it.
 *
 * @example
 * ```ts
 * import { Content } from "@effect-mcp/protocol"
 * import { SessionHost } from "@effect-mcp/session"
 * import { UnixSocketServer } from "@effect-mcp/transport"
 * import * as NodeSocketServer from "@effect/platform-node/NodeSocketServer"
 * import * as Effect from "effect/Effect"
 * import * as Layer from "effect/Layer"
 *
 * const host = SessionHost.layer({
 *   "tools/call": () => Effect.succeed({ content: [Content.text("42")] })
 * }, { info: { name: "example", version: "1.0.0" } })
 *
 * // For clients whose certificates this authority has signed. What they connect with is a transport of their own.
 * export const overTls = (identity: { readonly key: string; readonly cert: string; readonly ca: string }) =>
 *   SessionHost.layerDrain.pipe(
 *     Layer.provideMerge(UnixSocketServer.layer()),
 *     Layer.provide(NodeSocketServer.layerTls({ ...identity, port: 7000, requestCert: true, allowHalfOpen: true })),
 *     Layer.provide(host)
 *   )
 * ```
 *
 * @category layers
 * @since 0.1.0
 */
export const layer = (options: Options = {}): Layer.Layer<never, never, SocketServer | SessionHost.SessionHost> =>
  Layer.effectDiscard(Effect.gen(function*() {
    NumericOption.check(options, rules)
    const server = yield* SocketServer
    const host = yield* SessionHost.SessionHost
    const kind = server.address._tag === "UnixPathAddress" ? "unix-socket" : "tcp"
    const sessions = new SessionPerConnection(host, options.maxInitializeBytes ?? InitializeRequest.defaultMaxBytes)
    const incoming = IncomingMessages.make(yield* MemoryBudget, options.unfinishedLimitBytes)
    const serve = UnixSocketHandler.make(sessions, kind, { ...options, incoming })
    const serving = server.run((socket) =>
      Effect.flatMap(
        Effect.serviceOption(NodeSocket.NetSocket),
        (node) => serve(socket, Option.getOrUndefined(node))
      )
    )
    yield* Effect.forkScoped(Effect.orDie(serving), { startImmediately: true })
    yield* Effect.addFinalizer(() => sessions.close)
  }))

/**
 * A server at a path, on Node: it listens while the Layer is there. When it goes, its host lets nobody in any more and ends all
 * sessions, then it stops to listen, and the file goes with it.
 *
 * The file is there only once it is listened to and has its mode, so that at no moment anybody else may connect. It takes the place
 * of a socket that nobody listens to any more, as a process leaves it that was killed. It does not take the place of anything else:
 * `ListenFailed` says what is there.
 *
 * @example
 * ```ts
 * import { Content } from "@effect-mcp/protocol"
 * import { SessionHost } from "@effect-mcp/session"
 * import { UnixSocketServer } from "@effect-mcp/transport"
 * import * as Effect from "effect/Effect"
 * import * as Layer from "effect/Layer"
 *
 * const host = SessionHost.layer({
 *   "tools/call": () => Effect.succeed({ content: [Content.text("42")] })
 * }, { info: { name: "example", version: "1.0.0" } })
 *
 * export const main = Layer.launch(
 *   Layer.provide(UnixSocketServer.layerNode({ path: "/run/example/mcp.sock", mode: 0o660 }), host)
 * )
 * ```
 *
 * @category layers
 * @since 0.1.0
 */
export const layerNode = (options: NodeOptions): Layer.Layer<never, ListenFailed, SessionHost.SessionHost> => {
  NumericOption.check(options, { ...rules, mode: NumericOption.fileMode })
  const listening = Layer.effect(
    SocketServer,
    Effect.mapError(
      UnixListener.make(options.path, options.mode ?? 0o600),
      ({ cause }) => new ListenFailed({ path: options.path, cause })
    )
  )
  // What is built last goes first: the sessions have ended before the listener goes.
  return SessionHost.layerDrain.pipe(
    Layer.provideMerge(layer(options)),
    Layer.provide(listening)
  )
}

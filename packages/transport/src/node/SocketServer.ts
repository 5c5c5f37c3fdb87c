/**
 * The server of sockets: Unix domain sockets, TCP, and any other `SocketServer` of Effect, such as one over TLS. A
 * {@link SessionHost} keeps a session for each client that connects. Each line is one message, as over stdio (TRN-04).
 *
 * A client that has ended its side still receives its replies. A client without a session receives an error with the
 * reason. For a Unix domain socket, the mode of the file decides who may connect. Windows has none, because its pipes
 * are not files.
 *
 * @stability unstable
 */
import { LoadedPackages } from "@effect-mcp/protocol/internal"
import { NumericOption } from "@effect-mcp/session/internal"
import { MemoryBudget } from "@effect-mcp/session/MemoryBudget"
import * as SessionHost from "@effect-mcp/session/SessionHost"
import * as NodeSocket from "@effect/platform-node/NodeSocket"
import * as Data from "effect/Data"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import type * as Scope from "effect/Scope"
import * as EffectSocketServer from "effect/socket/SocketServer"
import * as IncomingMessages from "../internal/shared/IncomingMessages.ts"
import * as InitializeRequest from "../internal/shared/InitializeRequest.ts"
import { SessionPerConnection } from "../internal/shared/SessionPerConnection.ts"
import * as SocketHandler from "../internal/socket/SocketHandler.ts"
import * as TcpListener from "../internal/socket/TcpListener.ts"
import * as UnixListener from "../internal/socket/UnixListener.ts"
import { thisPackage } from "../internal/thisPackage.ts"

/**
 * Options for the connections of a server; all are optional.
 *
 * @category options
 */
export interface Options {
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
  /** The most bytes that wait for a client that does not read, before `send` suspends. Default 1 MiB. */
  readonly maxSendBufferBytes?: number | undefined
  /** The time that a client has to read its last messages when its session ends. Default 3 seconds. */
  readonly closeTimeout?: Duration.Input | undefined
}

/**
 * Options of a server that listens at a path.
 *
 * @category options
 */
export interface UnixOptions extends Options {
  /**
   * The path to listen at. Its directory must exist. On Linux the path of the directory has at most 97 bytes and the
   * whole path 107; elsewhere 93 and 103.
   */
  readonly path: string
  /** The mode of the socket file. Users who may write to it may connect. Default `0o600`: only this user. */
  readonly mode?: number | undefined
}

/**
 * Options of a server that listens on a TCP port.
 *
 * @category options
 */
export interface TcpOptions extends Options {
  /** The port to listen on; 0 for a free one. */
  readonly port: number
  /**
   * The IP address to listen on. Default `127.0.0.1`, which only programs of this machine reach, those that show web
   * pages included. A connection whose first line is no JSON is closed, because a page can send only HTTP.
   */
  readonly host?: string | undefined
}

const rules: NumericOption.Rules<Options> = {
  maxMessageBytes: NumericOption.count,
  maxMessageNodes: NumericOption.count,
  maxInitializeBytes: NumericOption.count,
  maxTotalIncomingBytes: NumericOption.count,
  maxSendBufferBytes: NumericOption.countFromZero,
  closeTimeout: NumericOption.duration
}

const messageOf = (cause: unknown): string => cause instanceof Error ? cause.message : String(cause)

/**
 * The error of a server that cannot listen at its address. A server listens there already, or the file is not a socket,
 * or the system does not allow it; `cause` has the reason.
 *
 * @example
 * ```ts
 * import { SocketServer } from "@effect-mcp/transport/node"
 *
 * export const message = new SocketServer.ListenError({
 *   address: "/run/example/mcp.sock",
 *   cause: new Error("a server listens there already")
 * }).message // => "could not listen at /run/example/mcp.sock: a server listens there already"
 * ```
 *
 * @category errors
 */
export class ListenError extends Data.TaggedError("ListenError")<{
  /** The path, or the host and the port. */
  readonly address: string
  readonly cause: unknown
}> {
  override get message(): string {
    return `could not listen at ${this.address}: ${messageOf(this.cause)}`
  }
}

/**
 * Serves the connections of the `SocketServer` in the context for as long as the scope is open, and then ends the
 * sessions that it has opened. See {@link layer}.
 *
 * @example
 * ```ts
 * import { SessionHost } from "@effect-mcp/session"
 * import { SocketServer } from "@effect-mcp/transport/node"
 * import * as NodeSocketServer from "@effect/platform-node/NodeSocketServer"
 * import * as Effect from "effect/Effect"
 *
 * const host = SessionHost.layer({}, { info: { name: "example", version: "1.0.0" } })
 *
 * // Serves for an hour.
 * export const program = SocketServer.serve().pipe(
 *   Effect.andThen(Effect.sleep("1 hour")),
 *   Effect.scoped,
 *   Effect.provide(NodeSocketServer.layer({ path: "/run/example/mcp.sock", allowHalfOpen: true })),
 *   Effect.provide(host)
 * )
 * ```
 *
 * @category constructors
 */
export const serve = Effect.fnUntraced(function*(
  options: Options = {}
): Effect.fn.Return<void, never, Scope.Scope | SessionHost.SessionHost | EffectSocketServer.SocketServer> {
  LoadedPackages.check(thisPackage)
  NumericOption.check(options, rules)
  const server = yield* EffectSocketServer.SocketServer
  const host = yield* SessionHost.SessionHost
  const kind = server.address._tag === "UnixPathAddress" ? "unix-socket" : "tcp"
  const sessions = new SessionPerConnection(host, options.maxInitializeBytes ?? InitializeRequest.defaultMaxBytes)
  const incoming = IncomingMessages.make(yield* MemoryBudget, options.maxTotalIncomingBytes)
  const serve = SocketHandler.make(sessions, kind, { ...options, incoming })
  const serving = server.run((socket) =>
    Effect.flatMap(
      Effect.serviceOption(NodeSocket.NetSocket),
      (node) => serve(socket, Option.getOrUndefined(node))
    )
  )
  yield* Effect.forkScoped(Effect.orDie(serving), { startImmediately: true })
  yield* Effect.addFinalizer(() => sessions.close)
})

/**
 * Serves the connections of the `SocketServer` in the context, of any kind. The `SocketServer` needs `allowHalfOpen`:
 * without it, a client that has ended its side receives no more replies. The {@link SessionHost} keeps the sessions. On
 * shutdown the Layer ends the sessions that it has opened. Add `SessionHost.layerDrain`, as the example does, so that
 * clients that connect during the shutdown receive an error with the reason.
 *
 * An open connection holds its session, so the session does not end for being idle; its maximum age still ends it. A
 * connection for which the host has no room is answered with −31010 under the id of its first message, and closed.
 *
 * The server probes TCP clients with keep-alive, because a client whose machine has crashed is merely silent.
 *
 * A TCP port is open to every program of the machine. It is also open to every web page in a browser on it, because the
 * lines of a POST body are read like any others. The server itself authenticates no client, so accept only connections
 * that are authenticated, such as TLS with client certificates.
 *
 * @example
 * ```ts
 * import { Content } from "@effect-mcp/protocol"
 * import { SessionHost } from "@effect-mcp/session"
 * import { SocketServer } from "@effect-mcp/transport/node"
 * import * as NodeSocketServer from "@effect/platform-node/NodeSocketServer"
 * import * as Effect from "effect/Effect"
 * import * as Layer from "effect/Layer"
 *
 * const host = SessionHost.layer({
 *   "tools/call": () => Effect.succeed({ content: [Content.text("42")] })
 * }, { info: { name: "example", version: "1.0.0" } })
 *
 * // For clients whose certificates this authority has signed.
 * export const overTls = (identity: { readonly key: string; readonly cert: string; readonly ca: string }) =>
 *   SessionHost.layerDrain.pipe(
 *     Layer.provideMerge(SocketServer.layer()),
 *     Layer.provide(NodeSocketServer.layerTls({ ...identity, port: 7000, requestCert: true, allowHalfOpen: true })),
 *     Layer.provide(host)
 *   )
 * ```
 *
 * @category layers
 */
export const layer = (
  options?: Options
): Layer.Layer<never, never, EffectSocketServer.SocketServer | SessionHost.SessionHost> =>
  Layer.effectDiscard(serve(options))

/**
 * Listens at a path and serves the connections, on Node. On shutdown the host accepts no new sessions and drains the
 * existing ones. Then the listener closes and removes the file.
 *
 * The file appears only when the server listens and the file has its mode, so no other user can ever connect. It
 * replaces a socket on which no server listens, such as a killed process leaves. It replaces no other file: the cause
 * of `ListenError` names what is there.
 *
 * @example
 * ```ts
 * import { Content } from "@effect-mcp/protocol"
 * import { SessionHost } from "@effect-mcp/session"
 * import { SocketServer } from "@effect-mcp/transport/node"
 * import * as Effect from "effect/Effect"
 * import * as Layer from "effect/Layer"
 *
 * const host = SessionHost.layer({
 *   "tools/call": () => Effect.succeed({ content: [Content.text("42")] })
 * }, { info: { name: "example", version: "1.0.0" } })
 *
 * export const main = Layer.launch(
 *   Layer.provide(SocketServer.layerUnix({ path: "/run/example/mcp.sock", mode: 0o660 }), host)
 * )
 * ```
 *
 * @category layers
 */
export const layerUnix = (options: UnixOptions): Layer.Layer<never, ListenError, SessionHost.SessionHost> => {
  NumericOption.check(options, { ...rules, mode: NumericOption.fileMode })
  return listening(options, options.path, UnixListener.make(options.path, options.mode ?? 0o600))
}

/**
 * Listens on a TCP port and serves the connections, on Node. On shutdown the host accepts no new sessions and drains
 * the existing ones. Then the listener closes.
 *
 * A port is open to every program that can reach it, and to every web page in a browser on this machine, because the
 * lines of a POST body are read like any others. Use it for what needs no authentication, such as tests, and
 * {@link layer} over TLS with client certificates for everything else.
 *
 * @example
 * ```ts
 * import { Content } from "@effect-mcp/protocol"
 * import { SessionHost } from "@effect-mcp/session"
 * import { SocketServer } from "@effect-mcp/transport/node"
 * import * as Effect from "effect/Effect"
 * import * as Layer from "effect/Layer"
 *
 * const host = SessionHost.layer({
 *   "tools/call": () => Effect.succeed({ content: [Content.text("42")] })
 * }, { info: { name: "example", version: "1.0.0" } })
 *
 * export const main = Layer.launch(Layer.provide(SocketServer.layerTcp({ port: 7000 }), host))
 * ```
 *
 * @category layers
 */
export const layerTcp = (options: TcpOptions): Layer.Layer<never, ListenError, SessionHost.SessionHost> => {
  NumericOption.check(options, { ...rules, port: NumericOption.countFromZero })
  const { host = "127.0.0.1", port } = options
  return listening(options, `${host}:${port}`, TcpListener.make(host, port))
}

/** Serves the connections of a listener until the scope closes. */
const listening = (
  options: Options,
  address: string,
  listener: Effect.Effect<
    EffectSocketServer.SocketServer["Service"],
    { readonly cause: unknown },
    Scope.Scope
  >
): Layer.Layer<never, ListenError, SessionHost.SessionHost> =>
  // Layers close in reverse order: the sessions end before the listener closes.
  SessionHost.layerDrain.pipe(
    Layer.provideMerge(layer(options)),
    Layer.provide(Layer.effect(
      EffectSocketServer.SocketServer,
      Effect.mapError(listener, ({ cause }) => new ListenError({ address, cause }))
    ))
  )

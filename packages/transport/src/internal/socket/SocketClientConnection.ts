/** The connections that a client opens: to a path or a port, or over any socket of Effect. */
import { LoadedPackages } from "@effect-mcp/protocol/internal"
import type { Connection } from "@effect-mcp/session/Transport"
import * as TransportError from "@effect-mcp/session/TransportError"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import type * as Socket from "effect/socket/Socket"
import * as Net from "node:net"
import { unwrapCause } from "../shared/platformErrors.ts"
import { thisPackage } from "../thisPackage.ts"
import * as SocketConnection from "./SocketConnection.ts"
import type { Address } from "./SocketListener.ts"
import { socketOfNode } from "./socketOfNode.ts"

type Opened = Effect.Effect<Connection, TransportError.TransportError, Scope.Scope>

/** A listener that ignores errors. Reads and writes report them; without a listener, an error ends the process. */
const ignoreError = () => {}

/** Waits until the socket is open. */
const connected = (socket: Net.Socket): Effect.Effect<void, unknown> =>
  Effect.callback<void, unknown>((resume) => {
    // The fiber may have yielded since the socket was made. What happened meanwhile emits no event any more.
    if (socket.destroyed) return resume(Effect.fail(socket.errored))
    if (!socket.connecting) return resume(Effect.void)
    const onConnect = () => resume(Effect.void)
    const onError = (cause: Error) => resume(Effect.fail(cause))
    socket.once("connect", onConnect).once("error", onError)
    return Effect.sync(() => socket.off("connect", onConnect).off("error", onError))
  })

/** Opens a connection to the server that listens at an address. `target` names it in errors. */
export const openAddress = (at: Address, target: string, settings: SocketConnection.Settings): Opened =>
  Effect.gen(function*() {
    LoadedPackages.check(thisPackage)
    const failed = (cause: unknown) => TransportError.make({ _tag: "ConnectFailed", target, cause: unwrapCause(cause) })
    // Node would connect over TCP.
    if ("path" in at && at.path === "") return yield* failed(new Error("the path is empty"))
    const node = yield* Effect.acquireRelease(
      Effect.sync(() => Net.connect(at).on("error", ignoreError)),
      (socket) => Effect.sync(() => socket.destroy())
    )
    yield* Effect.mapError(connected(node), failed)
    const socket = yield* socketOfNode(node)
    return yield* Effect.mapError(SocketConnection.open(socket, node, settings), failed)
  })

/**
 * Returns an effect that opens a connection over a socket of Effect. Such a socket has one writer, so it carries one
 * connection at a time.
 */
export const openSocket = (socket: Socket.Socket, settings: SocketConnection.Settings): Opened => {
  let isUsed = false
  const acquire = Effect.suspend(() => {
    LoadedPackages.check(thisPackage)
    if (isUsed) return Effect.fail(TransportError.make({ _tag: "InUse" }))
    isUsed = true
    return Effect.void
  })
  const release = Effect.sync(() => {
    isUsed = false
  })
  const opened = Effect.mapError(
    SocketConnection.open(socket, undefined, settings),
    ({ reason }) =>
      TransportError.make({
        _tag: "ConnectFailed",
        target: "the server of the socket",
        cause: "cause" in reason ? unwrapCause(reason.cause) : reason
      })
  )
  return Effect.andThen(Effect.acquireRelease(acquire, () => release), opened)
}

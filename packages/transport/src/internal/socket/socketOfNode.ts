/** A socket of Effect over an open socket of Node. */
import * as NodeSocket from "@effect/platform-node/NodeSocket"
import * as Effect from "effect/Effect"
import * as Socket from "effect/socket/Socket"
import type { Socket as NetSocket } from "node:net"

/** Returns the socket of Effect. It fails for a destroyed socket, which emits no event to a later reader. */
export const socketOfNode = (node: NetSocket): Effect.Effect<Socket.Socket> =>
  NodeSocket.fromDuplex(
    Effect.acquireRelease(
      Effect.suspend(() =>
        node.destroyed
          ? Effect.fail(
            new Socket.SocketError({ reason: new Socket.SocketOpenError({ kind: "Unknown", cause: node.errored }) })
          )
          : Effect.succeed(node)
      ),
      () => Effect.sync(() => node.destroySoon())
    )
  )

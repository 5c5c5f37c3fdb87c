import * as NodeSocket from "@effect/platform-node/NodeSocket"
import * as Effect from "effect/Effect"
import * as Socket from "effect/socket/Socket"
import type { Socket as NetSocket } from "node:net"

/** A socket of Node that is open, to be read from now on. One that is no more would never say so to a reader that comes later. */
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

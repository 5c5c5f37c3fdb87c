/** A connection of the client half of WebSocket, in hand. */
import type { JsonRpc } from "@effect-mcp/protocol"
import { Transport, type TransportError } from "@effect-mcp/session"
import { WebSocketClient } from "@effect-mcp/transport"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Result from "effect/Result"
import * as Scope from "effect/Scope"
import * as Socket from "effect/socket/Socket"
import { beside } from "../fixtures/httpConnection.ts"

export type ClientLayer = (
  options: WebSocketClient.NodeOptions
) => Layer.Layer<Transport.Transport>

/** What both ways to a WebSocket have to do. */
export const clients: Readonly<Record<string, ClientLayer>> = {
  "on Node": WebSocketClient.layerNode,
  "as in a browser": ({ closeTimeout, connectTimeout, maxMessageBytes, url }) =>
    Layer.provide(
      WebSocketClient.layer({ url, closeTimeout, connectTimeout, maxMessageBytes }),
      Socket.layerWebSocketConstructorGlobal
    )
}

/** A connection that nobody reads yet, in a scope of its own. */
export const open = Effect.fnUntraced(function*(
  layer: ClientLayer,
  options: WebSocketClient.NodeOptions
): Effect.fn.Return<Opened, TransportError.TransportError, Scope.Scope> {
  const scope = yield* Effect.acquireRelease(Scope.make(), Scope.close)
  const context = yield* Layer.build(layer({ closeTimeout: "50 millis", ...options }))
  const connection = yield* Scope.provide(Context.get(context, Transport.Transport).connect, scope)
  return {
    connection,
    send: (message) => connection.send({ message, replyTo: undefined, last: false }),
    leave: Scope.close(scope, Exit.void)
  }
})

export interface Opened {
  readonly connection: Transport.Connection
  readonly send: (message: JsonRpc.Frame) => Effect.Effect<void, TransportError.TransportError>
  /** Closes its scope. */
  readonly leave: Effect.Effect<void>
}

/** Reads it, beside the test. */
export const read = Effect.fnUntraced(function*({ connection }: Opened) {
  const inbound: Array<Transport.Inbound> = []
  const running = yield* beside(connection.run((one) => inbound.push(one)))
  return {
    running,
    inbound,
    /** What has come, parsed; or why it is not. */
    frames: () => inbound.map(({ frame }) => Result.merge(frame))
  }
})

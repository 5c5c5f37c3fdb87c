/** One connection of the WebSocket client, which a test drives in place of a session. */
import type { JsonRpc } from "@effect-mcp/protocol"
import { Transport, type TransportError } from "@effect-mcp/session"
import { WebSocketClient } from "@effect-mcp/transport/node"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Result from "effect/Result"
import * as Scope from "effect/Scope"
import * as Socket from "effect/socket/Socket"
import { forkNow } from "./httpClientConnection.ts"

export type ClientLayer = (
  options: WebSocketClient.NodeOptions
) => Layer.Layer<Transport.Transport>

/** The two clients: over `ws`, and over a WebSocket with the members that browsers have. */
export const clients: Readonly<Record<string, ClientLayer>> = {
  "on Node": WebSocketClient.layerNode,
  "as in a browser": ({ closeTimeout, connectTimeout, maxMessageBytes, url }) =>
    Layer.provide(
      WebSocketClient.layer({ url, closeTimeout, connectTimeout, maxMessageBytes }),
      Socket.layerWebSocketConstructorGlobal
    )
}

/** Opens a connection in its own scope. It is not run yet. */
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
    close: Scope.close(scope, Exit.void)
  }
})

export interface Opened {
  readonly connection: Transport.Connection
  readonly send: (message: JsonRpc.Frame) => Effect.Effect<void, TransportError.TransportError>
  /** Closes the connection. */
  readonly close: Effect.Effect<void>
}

/** Runs a connection in the background. */
export const read = Effect.fnUntraced(function*({ connection }: Opened) {
  const inbound: Array<Transport.Inbound> = []
  const running = yield* forkNow(connection.run((one) => inbound.push(one)))
  return {
    running,
    inbound,
    /** Returns the frames: parsed, or the error of one that could not be parsed. */
    frames: () => inbound.map(({ frame }) => Result.merge(frame))
  }
})

/** The requests of a WebSocket server: a GET opens a WebSocket, and the WebSocket a session of the host. */
import type { Principal } from "@effect-mcp/session/Principal"
import * as SessionHost from "@effect-mcp/session/SessionHost"
import type * as Transport from "@effect-mcp/session/Transport"
import * as TransportError from "@effect-mcp/session/TransportError"
import * as Effect from "effect/Effect"
import type { HttpServerResponse } from "effect/http/HttpServerResponse"
import type * as Scope from "effect/Scope"
import type * as Socket from "effect/socket/Socket"
import type * as Net from "node:net"
import type { Handler, HttpGuard, Sender } from "../../http/server/HttpGuard.ts"
import * as HttpResponses from "../../http/server/HttpResponses.ts"
import * as ClientAddress from "../../shared/ClientAddress.ts"
import type { IncomingMessages } from "../../shared/IncomingMessages.ts"
import { atMost } from "../../shared/nodeTimers.ts"
import { SessionPerConnection } from "../../shared/SessionPerConnection.ts"
import * as Heartbeat from "../Heartbeat.ts"
import * as TcpBackpressure from "../TcpBackpressure.ts"
import * as WebSocketConnection from "../WebSocketConnection.ts"
import type * as WebSocketFraming from "../WebSocketFraming.ts"
import * as WebSocketUpgrade from "./WebSocketUpgrade.ts"

/** The settings of all connections of a server. */
export interface Options {
  readonly limits: WebSocketFraming.Limits
  readonly maxInitializeBytes: number
  readonly incoming: IncomingMessages
  readonly pingMillis: number
  readonly closeMillis: number
  readonly subprotocol: WebSocketUpgrade.Requirement
}

/** A ping frame. The HTTP server writes whole frames, so a ping may be written between any two of them. */
const ping = Uint8Array.of(0x89, 0)

/**
 * Creates the handlers of accepted requests, by method. A session outlives its request, and ends at the latest with the
 * scope.
 */
export const make = Effect.fnUntraced(function*(
  guard: HttpGuard,
  { closeMillis, incoming, maxInitializeBytes, limits, pingMillis, subprotocol }: Options
): Effect.fn.Return<Handler, never, SessionHost.SessionHost | Scope.Scope> {
  const host = yield* SessionHost.SessionHost
  const heartbeat = yield* Heartbeat.make(pingMillis)
  const sessions = new SessionPerConnection(host, maxInitializeBytes)
  yield* Effect.addFinalizer(() => sessions.close)

  const side: WebSocketConnection.Options["side"] = Effect.map(
    host.health,
    ({ draining }) => sessions.isClosing || draining ? "server shutting down" : "server"
  )

  /** Accepts the upgrade. Its HTTP response starts the connection. */
  const accept = Effect.fnUntraced(function*(
    socket: Socket.Socket,
    tcp: Net.Socket,
    principal: Principal | undefined
  ): Effect.fn.Return<Transport.Connection, Socket.SocketError, Scope.Scope> {
    const control = TcpBackpressure.make(tcp, () => void tcp.write(ping))
    // Registered first, so that the socket is destroyed even if the WebSocket does not open.
    yield* Effect.addFinalizer(() => Effect.andThen(atMost(control.closed, closeMillis), Effect.sync(control.destroy)))
    return yield* WebSocketConnection.make(socket, Effect.succeed(control), {
      side,
      limits,
      closeMillis,
      heartbeat,
      principal,
      authenticates: true,
      incoming
    })
  })

  const open = (
    socket: Socket.Socket,
    tcp: Net.Socket,
    sender: Pick<SessionHost.OpenOptions, "client" | "endsAt" | "principal">
  ): Effect.Effect<HttpServerResponse, HttpServerResponse> => {
    const connect = Effect.mapError(
      accept(socket, tcp, sender.principal),
      (cause) => TransportError.make({ _tag: "ConnectFailed", target: "the client", cause: cause.reason })
    )
    return sessions.open(connect, { kind: "websocket", ...sender }).pipe(
      Effect.as(HttpResponses.empty(204)),
      Effect.mapError((error) => HttpResponses.openFailed(error, undefined))
    )
  }

  const get = ({ principal, request }: Sender): Effect.Effect<HttpServerResponse, HttpServerResponse> =>
    Effect.gen(function*() {
      if (sessions.isClosing) {
        return yield* Effect.fail(HttpResponses.shuttingDown((yield* host.health).retryAfterMillis))
      }
      const tcp = yield* WebSocketUpgrade.take(request, subprotocol)
      const socket = yield* Effect.mapError(request.upgrade, () => WebSocketUpgrade.notAnUpgrade)
      return yield* open(socket, tcp, {
        principal,
        endsAt: principal?.expiresAt,
        client: ClientAddress.of(request)
      })
    })

  return guard.protect(new Map([["GET", get]]))
})

/** A dialer: it opens the WebSocket of a connection. */
import type * as TransportError from "@effect-mcp/session/TransportError"
import type * as Effect from "effect/Effect"
import type * as Socket from "effect/socket/Socket"
import type { HttpResponse } from "../../http/client/HttpCall.ts"
import type { SocketControl } from "../SocketControl.ts"

/** A WebSocket that opens when its reader is acquired. */
export interface Dialled {
  readonly socket: Socket.Socket
  /** Returns the control of the open WebSocket; fails if the server did not select the subprotocol. */
  readonly control: Effect.Effect<SocketControl, TransportError.TransportError>
  /** Returns the HTTP response with which the server rejected the upgrade, if it did. */
  readonly rejection: () => HttpResponse | undefined
}

/** Dials a server with these headers. */
export type Dial = (headers: Readonly<Record<string, string>>) => Effect.Effect<Dialled>

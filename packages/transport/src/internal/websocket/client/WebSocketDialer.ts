import type * as TransportError from "@effect-mcp/session/TransportError"
import type * as Effect from "effect/Effect"
import type * as Socket from "effect/socket/Socket"
import type { Answer } from "../../http/client/HttpCall.ts"
import type { SocketControl } from "../SocketControl.ts"

/** A WebSocket that has been asked for, and opens when its reader is acquired. */
export interface Dialled {
  readonly socket: Socket.Socket
  /** The wire of the open WebSocket; fails where it is not the one that was asked for. */
  readonly wire: Effect.Effect<SocketControl, TransportError.TransportError>
  /** What the server said when it refused the upgrade, if it did. */
  readonly refused: () => Answer | undefined
}

/** Asks a server for a WebSocket, with these headers. */
export type Dial = (headers: Readonly<Record<string, string>>) => Effect.Effect<Dialled>

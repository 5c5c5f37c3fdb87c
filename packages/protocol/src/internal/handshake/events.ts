/** The events of a session, and the source of each. */
import type { CloseReason } from "../../CloseReason.ts"
import type { ClientProfile, ModernServerProfile, ServerProfile } from "../../Profile.ts"
import type { LegacyRevision } from "../../Revision.ts"

/**
 * The events of a session, with the members of each.
 *
 * @category models
 */
export interface Events {
  /** The client sends `server/discover` as its first request, to learn whether the server needs a handshake. */
  readonly SendDiscover: {}
  /** The client sends `initialize`. */
  readonly SendInitialize: { readonly offer: LegacyRevision }
  /** The server is about to send its response to `initialize`, ahead of the responses to pipelined requests. */
  readonly SendInitializeResult: {}
  readonly SendPing: {}
  /** Any other request. */
  readonly SendRequest: {}
  readonly SendNotification: {}
  /** An `initialize` with valid params. */
  readonly ReceiveInitialize: { readonly profile: ClientProfile }
  /** An `initialize` with invalid params. */
  readonly ReceiveInvalidInitialize: {}
  /** The server serves a revision without a handshake that this client supports. */
  readonly ReceiveDiscoverResult: { readonly profile: ModernServerProfile }
  /** The server has no revision in common with this client, or cannot be asked for its revisions. */
  readonly ReceiveDiscoverFailure: { readonly reason: CloseReason }
  /** The server agreed to a revision that this client supports. */
  readonly ReceiveInitializeResult: { readonly profile: ServerProfile }
  /** The server returned an error, an invalid result, or a revision that this client does not support. */
  readonly ReceiveInitializeFailure: { readonly reason: CloseReason }
  /** `notifications/initialized`. */
  readonly ReceiveInitialized: {}
  readonly ReceivePing: {}
  /** Any other request. */
  readonly ReceiveRequest: {}
  /** A log message for the client, which a server may send before its response to `initialize` (INIT-10). */
  readonly ReceiveLog: {}
  /** Any other notification. */
  readonly ReceiveNotification: {}
  readonly ReceiveResponse: {}
  /** This side ends the session, or its scope closes. */
  readonly Close: { readonly reason: CloseReason }
  /** The handshake exceeded its time limit. */
  readonly Timeout: { readonly reason: CloseReason }
  /** No more messages will arrive. */
  readonly TransportEnded: { readonly reason: CloseReason }
  /** Every request in flight has ended, and the connection is closed. */
  readonly Drained: {}
}

/**
 * The name of an event.
 *
 * @category models
 */
export type EventTag = keyof Events

/**
 * The event of a name.
 *
 * @category models
 */
export type EventOf<Tag extends EventTag> = { readonly [T in Tag]: { readonly _tag: T } & Events[T] }[Tag]

/**
 * Any event.
 *
 * @category models
 */
export type Event = EventOf<EventTag>

/**
 * The source of an event: this side's program, the peer, or the lifecycle of the session.
 *
 * @category models
 */
export type EventSource = "local" | "peer" | "lifecycle"

/**
 * The source of each event. It decides the meaning of a pair without a row.
 *
 * @category constants
 */
export const eventSources = {
  SendDiscover: "local",
  SendInitialize: "local",
  SendInitializeResult: "local",
  SendPing: "local",
  SendRequest: "local",
  SendNotification: "local",
  ReceiveInitialize: "peer",
  ReceiveInvalidInitialize: "peer",
  ReceiveDiscoverResult: "peer",
  ReceiveDiscoverFailure: "peer",
  ReceiveInitializeResult: "peer",
  ReceiveInitializeFailure: "peer",
  ReceiveInitialized: "peer",
  ReceivePing: "peer",
  ReceiveRequest: "peer",
  ReceiveLog: "peer",
  ReceiveNotification: "peer",
  ReceiveResponse: "peer",
  Close: "lifecycle",
  Timeout: "lifecycle",
  TransportEnded: "lifecycle",
  Drained: "lifecycle"
} as const satisfies { readonly [Tag in EventTag]: EventSource }

import { CloseReason } from "@effect-mcp/protocol"
import type { RequestError, SessionEvent } from "@effect-mcp/session"

/** Why a session ends that this side has closed. */
export const requested: CloseReason.CloseReason = CloseReason.requested

/** Why a session ends whose peer has ended, if there is no more to say of it. */
export const peerEnded: CloseReason.CloseReason = { _tag: "PeerEnded", exit: undefined }

/** Why a request fails whose session has ended. */
export const closedFor = (reason: CloseReason.CloseReason): RequestError.RequestErrorReason => ({
  _tag: "Closed",
  reason
})

/** How the session ended, if it has. */
export const closedEvents = (record: { readonly events: ReadonlyArray<SessionEvent.SessionEvent> }) =>
  record.events.flatMap((event) => event._tag === "Closed" ? [event] : [])

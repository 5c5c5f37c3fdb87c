import { CloseReason, type Tool } from "@effect-mcp/protocol"
import type { RequestContext, RequestError, SessionEvent } from "@effect-mcp/session"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import { call, introduce, tools, withRawClient } from "./sessions.ts"

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

/** A server session that serves a call of this tool, request 1, when it begins to end. */
export const serving = Effect.fnUntraced(function*(
  tool: Effect.Effect<Tool.CallToolResult, never, RequestContext.RequestContext>,
  gracefulCloseTimeout: Duration.Input = "5 seconds"
) {
  const all = yield* withRawClient({ handlers: tools({ x: tool }), server: { limits: { gracefulCloseTimeout } } })
  yield* introduce(all.raw)
  yield* all.raw.send(call(1, "x"))
  return all
})

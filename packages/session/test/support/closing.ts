import { CloseReason, type Tool } from "@effect-mcp/protocol"
import type { RequestContext, RequestError, SessionEvent } from "@effect-mcp/session"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import { call, performHandshake, tools, withRawClient } from "./sessions.ts"

/** The close reason of a session that this side closes. */
export const requested: CloseReason.CloseReason = CloseReason.requested

/** The close reason of a session whose peer ends, without the exit of a process. */
export const peerEnded: CloseReason.CloseReason = { _tag: "PeerEnded", exit: undefined }

/** Makes the reason with which a request fails because its session has ended. */
export const closedFor = (reason: CloseReason.CloseReason, isSent = true): RequestError.RequestErrorReason => ({
  _tag: "Closed",
  reason,
  isSent
})

/** Returns the `Closed` events. */
export const closedEvents = (record: { readonly events: ReadonlyArray<SessionEvent.SessionEvent> }) =>
  record.events.flatMap((event) => event._tag === "Closed" ? [event] : [])

/** Makes a server session that serves a call of this tool, as request 1. */
export const serving = Effect.fnUntraced(function*(
  tool: Effect.Effect<Tool.CallToolResult, never, RequestContext.RequestContext>,
  gracefulTimeout: Duration.Input = "5 seconds"
) {
  const all = yield* withRawClient({ handlers: tools({ x: tool }), server: { limits: { gracefulTimeout } } })
  yield* performHandshake(all.raw)
  yield* all.raw.send(call(1, "x"))
  return all
})

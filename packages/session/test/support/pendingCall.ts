import { JsonRpc } from "@effect-mcp/protocol"
import * as Effect from "effect/Effect"
import { settled, start, text, withRawServer } from "./sessions.ts"

/** Makes the response to a call of a tool, with this text. */
export const reply = (id: number, words = "answer") => JsonRpc.success(id, text(words))

/** Makes a client session with a pending call, which is request 1. */
export const pendingCall = Effect.fnUntraced(function*(options: Parameters<typeof withRawServer>[0] = {}) {
  const all = yield* withRawServer(options)
  const fiber = yield* start(all.session.callTool("x"))
  yield* settled
  const before = all.raw.received.length
  return { ...all, fiber, sentSince: () => all.raw.received.slice(before) }
})

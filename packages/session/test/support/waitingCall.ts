import { JsonRpc } from "@effect-mcp/protocol"
import * as Effect from "effect/Effect"
import { settled, start, text, withRawServer } from "./sessions.ts"

/** A response with a text, as a scripted server says it. */
export const answered = (id: number, words = "answer") => JsonRpc.success(id, text(words))

/** A call that waits for the scripted server to answer request 1. */
export const waiting = Effect.fnUntraced(function*(options: Parameters<typeof withRawServer>[0] = {}) {
  const all = yield* withRawServer(options)
  const fiber = yield* start(all.session.callTool("x"))
  yield* settled
  const said = all.raw.received.length
  return { ...all, fiber, saidSince: () => all.raw.received.slice(said) }
})

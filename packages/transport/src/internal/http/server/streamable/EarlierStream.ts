/** The messages in a stream that an earlier owner of a session left open. */
import { ExactJson, JsonRpc, type RequestId } from "@effect-mcp/protocol"
import type { UnendedStream } from "@effect-mcp/session/EventStore"

/** The parts of messages that are looked for: most events have none of them, and are not parsed. */
const marks = ["\"id\"", "\"requestId\"", "\"notifications/progress\""]

/** Returns the messages of an event. A priming event has none, and one of a store that holds something else neither. */
const messagesIn = (data: string): ReadonlyArray<unknown> => {
  if (!marks.some((mark) => data.includes(mark))) return []
  try {
    const frame: unknown = ExactJson.parse(data)
    return Array.isArray(frame) ? frame : [frame]
  } catch {
    return []
  }
}

/** The requests, the questions and the progress in a stream. */
export interface EarlierStream {
  readonly stream: UnendedStream
  /** The ids of the requests without a response. */
  readonly unanswered: ReadonlyArray<RequestId.RequestId>
  /** The ids of the questions that are not cancelled. The stream does not have the answers. */
  readonly questions: ReadonlySet<RequestId.RequestId>
  /** The highest progress; `undefined` for none. */
  readonly progress: number | undefined
}

/** Reads the messages of a stream. */
export const read = (stream: UnendedStream): EarlierStream => {
  const { events, requests } = stream
  const questions = new Set<RequestId.RequestId>()
  const answered = new Set<unknown>()
  let progress: number | undefined
  for (const message of events.flatMap(({ data }) => messagesIn(data))) {
    const classified = JsonRpc.classify(message)
    if (classified._tag === "Request") questions.add(classified.message.id)
    else if (classified._tag === "Response") answered.add(classified.message.id)
    else if (classified._tag === "Notification") {
      const { method, params = {} } = classified.message
      const { progress: step, requestId } = params
      if (method === "notifications/progress" && typeof step === "number") progress = Math.max(step, progress ?? step)
      if (method !== "notifications/cancelled") continue
      if (typeof requestId === "string" || typeof requestId === "number") questions.delete(requestId)
    }
  }
  return { stream, unanswered: requests.filter((id) => !answered.has(id)), questions, progress }
}

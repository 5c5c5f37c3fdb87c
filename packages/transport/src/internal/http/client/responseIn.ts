/** The search for responses in a frame. */
import { type JsonRpc, RequestId } from "@effect-mcp/protocol"
import * as Predicate from "effect/Predicate"

interface Response {
  readonly id: unknown
}

const isResponse = (message: unknown): message is Response =>
  Predicate.hasProperty(message, "id") && !("method" in message)

/** Returns the responses in a frame. It does not look into nested batches, because a frame may be nested deeply. */
export const responsesIn = (frame: unknown): ReadonlyArray<Response> => {
  const messages: ReadonlyArray<unknown> = Array.isArray(frame) ? frame : [frame]
  return messages.filter(isResponse)
}

/** Returns whether a response with this id belongs to a request: some servers return a number as its text. */
export const isIdOf = (received: unknown, id: JsonRpc.Request["id"]): boolean =>
  received === id || RequestId.numberIn(received) === id

/** Returns the response to a request in a frame, if it is there. */
export const responseIn = (frame: unknown, id: JsonRpc.Request["id"]): Response | undefined =>
  responsesIn(frame).find((response) => isIdOf(response.id, id))

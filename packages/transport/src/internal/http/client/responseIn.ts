import type { JsonRpc } from "@effect-mcp/protocol"
import * as Predicate from "effect/Predicate"

interface Response {
  readonly id: unknown
}

const isResponse = (message: unknown): message is Response =>
  Predicate.hasProperty(message, "id") && !("method" in message)

/** The responses in a frame. A batch holds no other: a frame may be nested without end. */
export const responsesIn = (frame: unknown): ReadonlyArray<Response> => {
  const messages: ReadonlyArray<unknown> = Array.isArray(frame) ? frame : [frame]
  return messages.filter(isResponse)
}

/** The response to this request in a frame, if it is there. */
export const responseIn = (frame: unknown, id: JsonRpc.Request["id"]): Response | undefined =>
  responsesIn(frame).find((response) => response.id === id)

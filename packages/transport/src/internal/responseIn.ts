import type { JsonRpc } from "@effect-mcp/protocol"
import * as Predicate from "effect/Predicate"

const isResponseTo = (message: unknown, id: JsonRpc.Request["id"]): message is object =>
  Predicate.hasProperty(message, "id") && message.id === id && !("method" in message)

/** The response to this request in a frame, if it is there. A batch holds no other: a frame may be nested without end. */
export const responseIn = (frame: unknown, id: JsonRpc.Request["id"]): object | undefined => {
  const messages: ReadonlyArray<unknown> = Array.isArray(frame) ? frame : [frame]
  return messages.find((message) => isResponseTo(message, id))
}

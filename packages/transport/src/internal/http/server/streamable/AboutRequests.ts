/** The messages that are about requests of a session: they may have to wait until the session knows or stores them. */
import { JsonRpc } from "@effect-mcp/protocol"

/** Returns the answers and the cancellations in a message. */
export const of = (message: JsonRpc.Classified): ReadonlyArray<JsonRpc.Response | JsonRpc.Notification> => {
  switch (message._tag) {
    case "Response":
      return [message.message]
    case "Notification":
      return message.message.method === "notifications/cancelled" ? [message.message] : []
    case "Malformed":
      return message.malformed.meant === undefined ? [] : [message.malformed.meant]
    case "Batch":
      return message.frames.flatMap((frame) => of(JsonRpc.classify(frame)))
    default:
      return []
  }
}

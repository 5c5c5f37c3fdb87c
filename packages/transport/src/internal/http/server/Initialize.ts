/** The message that begins a handshake. */
import { JsonRpc } from "@effect-mcp/protocol"

/** How long it may be, unless told otherwise: what a client says of itself is kept as long as its session is. */
export const defaultLimitBytes = 64 * 1024

/** Does this begin a handshake? */
export const is = (frame: unknown): frame is JsonRpc.Request => {
  const classified = JsonRpc.classify(frame)
  return classified._tag === "Request" && classified.message.method === "initialize"
}

import { JsonRpc } from "@effect-mcp/protocol"

/** Does this begin a handshake? */
export const isInitialize = (frame: unknown): frame is JsonRpc.Request => {
  const classified = JsonRpc.classify(frame)
  return classified._tag === "Request" && classified.message.method === "initialize"
}

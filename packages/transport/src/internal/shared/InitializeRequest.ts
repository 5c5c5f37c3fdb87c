/** The request that begins a handshake, and the bound on its size. */
import { JsonRpc } from "@effect-mcp/protocol"

/** The default of `maxInitializeBytes`. It is small, because a session keeps the content of this request in memory. */
export const defaultMaxBytes = 64 * 1024

/** Returns whether a classified frame is an `initialize` request. */
export const isIn = (classified: JsonRpc.Classified): boolean =>
  classified._tag === "Request" && classified.message.method === "initialize"

/** Returns whether this frame is an `initialize` request. */
export const is = (frame: unknown): frame is JsonRpc.Request => isIn(JsonRpc.classify(frame))

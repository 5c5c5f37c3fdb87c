import type { JsonRpc } from "@effect-mcp/protocol"

/** Does this ask for a response? */
export const isRequest = (frame: JsonRpc.Frame): frame is JsonRpc.Request => "method" in frame && "id" in frame

/** What a peer is told about something that is not served. */

import { ErrorCode, JsonRpc, McpError, Revision } from "@effect-mcp/protocol"

/** There is no room for another request. */
export const overloaded = (why: string): McpError.McpError =>
  new McpError.McpError({ code: ErrorCode.Overloaded, message: `Overloaded: ${why}` })

/** Its id is that of another. */
export const duplicate: McpError.McpError = McpError.invalidRequest("A request with this id is in flight")

/** It is no message. */
export const malformed = (problem: string): McpError.McpError => McpError.invalidRequest(`Invalid request: ${problem}`)

/** There is a batch where none may be. */
export const noBatch: JsonRpc.Malformed = {
  id: undefined,
  answerable: true,
  problem: "no batch is expected here"
}

/** The answer to something whose id may be unreadable, which revisions say in two ways. */
export const response = (
  error: McpError.McpError,
  id: JsonRpc.Request["id"] | undefined,
  revision: Revision.Revision | undefined
): JsonRpc.Failure => {
  const unreadable = revision !== undefined && Revision.envelopes[revision].unreadableId === "null" ? null : undefined
  return JsonRpc.failure(id ?? unreadable, error)
}

/** The error for clients that have not declared the tasks extension (TKX-02). */

import { McpError, TaskExtension } from "@effect-mcp/protocol"

/** Returns the error of a request that needs the extension. */
export const missing = (method: string): McpError.McpError =>
  McpError.missingCapability(method, { extensions: { [TaskExtension.name]: {} } })

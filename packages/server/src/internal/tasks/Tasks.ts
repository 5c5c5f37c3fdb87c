/** The tasks of tools. */

import type { Tool } from "@effect-mcp/protocol"

/** Returns the definition of a tool on a server whose calls become no tasks. */
export const withoutTasks = (tool: Tool.Tool): Tool.Tool => {
  if (tool.execution === undefined) return tool
  const { execution: _, ...rest } = tool
  return rest
}

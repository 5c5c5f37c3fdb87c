/** The annotations of tools that allow a call to be sent again. */

import type { Tool } from "@effect-mcp/protocol"

/** Returns whether a tool of this name declares itself read-only or idempotent. */
export const isRepeatable = (tools: ReadonlyArray<Tool.Tool>, name: string): boolean => {
  const annotations = tools.find((tool) => tool.name === name)?.annotations
  return annotations?.readOnlyHint === true || annotations?.idempotentHint === true
}

/** The output of tools in a revision in which it may be any JSON value, with a schema of any type. */

import { Content, type MethodTable } from "@effect-mcp/protocol"
import * as Predicate from "effect/Predicate"

const isMembers = (value: unknown): value is { readonly [name: string]: unknown } =>
  Predicate.isObject(value) && !Array.isArray(value)

const withObjectSchema = (tool: unknown): unknown => {
  if (!isMembers(tool) || !isMembers(tool["outputSchema"]) || tool["outputSchema"]["type"] === "object") return tool
  const { outputSchema: _, ...rest } = tool
  return rest
}

/** Returns the JSON text of a value; `undefined` if it is nested too deeply or contains itself. */
const textOf = (value: unknown): string | undefined => {
  try {
    return JSON.stringify(value)
  } catch {
    return undefined
  }
}

const withObject = (result: unknown): unknown => {
  if (!isMembers(result)) return result
  const { structuredContent, ...rest } = result
  if (structuredContent === undefined || isMembers(structuredContent)) return result
  const { content } = rest
  if (!Array.isArray(content) || content.length > 0) return rest
  const text = textOf(structuredContent)
  return text === undefined ? result : { ...rest, content: [Content.text(text)] }
}

const list: MethodTable.RequestName = "tools/list"
const call: MethodTable.RequestName = "tools/call"

/**
 * Returns a result in the form of older revisions: an output schema that is not of an object is absent, and structured
 * content that is no object is text. Its servers send it as text as well (TOOL-09), so only a result without content
 * gets another block.
 */
export const toObjects = (method: string, result: unknown): unknown => {
  if (method === call) return withObject(result)
  if (method !== list || !isMembers(result) || !Array.isArray(result["tools"])) return result
  const { tools } = result
  const converted = tools.map(withObjectSchema)
  return converted.some((tool, index) => tool !== tools[index]) ? { ...result, tools: converted } : result
}

/** Results that break a schema and still have one possible meaning. */

import { MethodTable } from "@effect-mcp/protocol"

/** A corrected result, and the problem of the original. */
export interface Tolerated {
  readonly result: unknown
  readonly problem: string
}

const isObject = (value: unknown): value is { readonly [name: string]: unknown } =>
  typeof value === "object" && value !== null && !Array.isArray(value)

const { requests } = MethodTable

/** The rows whose results are pages. */
const lists: ReadonlySet<object> = new Set([
  requests["tools/list"],
  requests["prompts/list"],
  requests["resources/list"],
  requests["resources/templates/list"],
  requests["tasks/list"]
])

/**
 * Corrects a result that breaks the schema of its method, if it has one possible meaning. If the result of a tool has
 * no `content`, or `null`, the tool has run, and the server has omitted an empty list, as some languages do. The call
 * must not appear to have failed. For the same reason, a cursor that is `null` is none: the page is the last one.
 */
export const tolerate = (row: object, result: unknown): Tolerated | undefined => {
  if (!isObject(result)) return undefined
  if (lists.has(row) && result["nextCursor"] === null) {
    const { nextCursor: _, ...page } = result
    return { result: page, problem: "the nextCursor of a page is null" }
  }
  return Object.is(row, requests["tools/call"]) && !("task" in result) && (result["content"] ?? null) === null
    ? { result: { ...result, content: [] }, problem: "the result of a tool has no content" }
    : undefined
}

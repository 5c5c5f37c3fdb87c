/** Results that break a schema and still have one possible meaning. */

import { MethodTable } from "@effect-mcp/protocol"

/** A corrected result, and the problem of the original. */
export interface Tolerated {
  readonly result: unknown
  readonly problem: string
}

const isObject = (value: unknown): value is { readonly [name: string]: unknown } =>
  typeof value === "object" && value !== null && !Array.isArray(value)

/**
 * Corrects a result that breaks the schema of its method, if it has one possible meaning. If the result of a tool has
 * no `content`, or `null`, the tool has run, and the server has omitted an empty list, as some languages do. The call
 * must not appear to have failed.
 */
export const tolerate = (row: object, result: unknown): Tolerated | undefined =>
  Object.is(row, MethodTable.requests["tools/call"]) && isObject(result) && !("task" in result) &&
    (result["content"] ?? null) === null
    ? { result: { ...result, content: [] }, problem: "the result of a tool has no content" }
    : undefined

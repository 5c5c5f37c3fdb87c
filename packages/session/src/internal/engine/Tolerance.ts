/** Results that break a schema, but leave no doubt about their meaning. */

import { MethodTable } from "@effect-mcp/protocol"

/** A result as it was meant, and its problem. */
export interface Tolerated {
  readonly result: unknown
  readonly problem: string
}

const isObject = (value: unknown): value is { readonly [name: string]: unknown } =>
  typeof value === "object" && value !== null && !Array.isArray(value)

/**
 * Returns the meaning of a result that breaks the schema of its method, if there is no doubt about it. A tool without
 * `content`, or with `null`, has run: its server has left out an empty list, as some languages do. The call must not
 * look as if it had failed.
 */
export const tolerate = (row: object, result: unknown): Tolerated | undefined =>
  Object.is(row, MethodTable.requests["tools/call"]) && isObject(result) && !("task" in result) &&
    (result["content"] ?? null) === null
    ? { result: { ...result, content: [] }, problem: "the result of a tool has no content" }
    : undefined

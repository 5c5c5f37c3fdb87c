import { MethodTable } from "@effect-mcp/protocol"

/** A result as it was meant, and what is wrong with it. */
export interface Meant {
  readonly result: unknown
  readonly problem: string
}

const isObject = (value: unknown): value is { readonly [name: string]: unknown } =>
  typeof value === "object" && value !== null && !Array.isArray(value)

/**
 * A result that breaks the schema of its method, where there is no doubt about what it means. A tool without `content`,
 * or with `null`, has run: only its server has left out an empty list, as some languages do. It must not look as if the
 * call had failed.
 */
export const meantBy = (row: object, result: unknown): Meant | undefined =>
  Object.is(row, MethodTable.requests["tools/call"]) && isObject(result) && !("task" in result) &&
    (result["content"] ?? null) === null
    ? { result: { ...result, content: [] }, problem: "the result of a tool has no content" }
    : undefined

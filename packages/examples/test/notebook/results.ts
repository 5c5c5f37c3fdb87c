/** What the answers of the notebook hold. */
import { Revision } from "@effect-mcp/protocol"
import { assert } from "@effect/vitest"
import type { Members } from "../fixtures/officialClient.ts"

/** A member of a list that is no list, or no object, fails the test that looks for it. */
export const list = (value: unknown): ReadonlyArray<Members> => {
  assert.isArray(value)
  return Array.isArray(value) ? value : []
}

export const members = (value: unknown): Members => {
  assert.isObject(value)
  return typeof value === "object" && value !== null ? { ...value } : {}
}

/** The blocks of a result. */
export const blocks = (result: Members): ReadonlyArray<Members> => list(result["content"])

/** The text of its first block. */
export const words = (result: Members): string => String(blocks(result)[0]?.["text"])

/** What is structured in a result: in text always, and as such since 2025-06-18. */
export const structure = (result: Members, revision: Revision.Revision): unknown => {
  const said: unknown = JSON.parse(words(result))
  if (Revision.isAtLeast(revision, "2025-06-18")) assert.deepStrictEqual(result["structuredContent"], said)
  else assert.notProperty(result, "structuredContent")
  return said
}

/** The members of a value, those left out that came with a revision after this one. */
export const known = (
  revision: Revision.Revision,
  value: Members,
  since: { readonly [name: string]: Revision.Revision }
): Members =>
  Object.fromEntries(
    Object.entries(value).filter(([name]) => Revision.isAtLeast(revision, since[name] ?? "2024-11-05"))
  )

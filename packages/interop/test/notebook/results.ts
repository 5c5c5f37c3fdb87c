/** What the answers of the notebook hold. */
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

/** The structured content of a result, which is also there as text. */
export const structure = (result: Members): unknown => {
  const said: unknown = JSON.parse(words(result))
  assert.deepStrictEqual(result["structuredContent"], said)
  return said
}

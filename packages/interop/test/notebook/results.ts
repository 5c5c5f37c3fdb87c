/** Parts of the notebook's results. */
import { assert } from "@effect/vitest"
import type { Members } from "../fixtures/officialClient.ts"

/** Asserts that a value is a list. */
export const list = (value: unknown): ReadonlyArray<Members> => {
  assert.isArray(value)
  return Array.isArray(value) ? value : []
}

/** Asserts that a value is an object. Returns its members. */
export const members = (value: unknown): Members => {
  assert.isObject(value)
  return typeof value === "object" && value !== null ? { ...value } : {}
}

/** Returns the content blocks of a result. */
export const blocks = (result: Members): ReadonlyArray<Members> => list(result["content"])

/** Returns the text of the first block of a result. */
export const textOf = (result: Members): string => String(blocks(result)[0]?.["text"])

/** Returns the structured content of a result. Asserts that its text is the same JSON. */
export const structure = (result: Members): unknown => {
  const parsed: unknown = JSON.parse(textOf(result))
  assert.deepStrictEqual(result["structuredContent"], parsed)
  return parsed
}

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

/**
 * Returns the messages since a position, without notifications that a list has changed: a server sends these some time
 * after the change, so they may be those of another test.
 */
export const receivedSince = (received: ReadonlyArray<unknown>, position: number): ReadonlyArray<Members> =>
  received.slice(position).map(members).filter(({ method }) => !String(method).endsWith("/list_changed"))

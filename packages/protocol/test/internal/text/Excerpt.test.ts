import { assert, it } from "@effect/vitest"
import * as Excerpt from "../../../src/internal/text/Excerpt.ts"

it("a text within the limit is returned unchanged", () => {
  for (const text of ["", "tools/call", "x".repeat(Excerpt.defaultLength)]) assert.strictEqual(Excerpt.of(text), text)
})

it("a longer text is cut to the limit, and ends with an ellipsis", () => {
  const excerpt = Excerpt.of("x".repeat(1_000_000))
  assert.strictEqual(excerpt, `${"x".repeat(Excerpt.defaultLength - 1)}…`)
  assert.strictEqual(excerpt.length, Excerpt.defaultLength)
})

it("a surrogate pair is never split", () => {
  assert.strictEqual(Excerpt.of("a😀b😀", 4), "a😀…")
  assert.strictEqual(Excerpt.of("ab😀😀", 4), "ab…")
})

it("a text for a log is escaped, keeps its lines or has one, and is cut", () => {
  const text = `two\nlines\u{1b}[2J${"\u{1b}".repeat(10_000)}`
  assert.match(Excerpt.text(text), /^two\nlines\\u\{1b\}\[2J/)
  assert.match(Excerpt.line(text), /^two\\nlines\\u\{1b\}\[2J/)
  assert.strictEqual(Excerpt.line(text).length, Excerpt.loggedLength)
  assert.strictEqual(Excerpt.text(text, 20).length, 20)
  assert.strictEqual(Excerpt.name("a\n\"b"), "\"a\\n\\\"b\"")
  assert.isAtMost(Excerpt.name("x".repeat(1_000)).length, Excerpt.defaultLength + 2)
})

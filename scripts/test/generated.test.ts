import { assert, describe, it } from "@effect/vitest"
import { replaced } from "../generated.ts"

const block = (name: string, text: string): string => `<!-- generated: ${name} -->\n\n${text}\n\n<!-- /generated -->`

const page = `# Title\n\n${block("one", "old")}\n\nprose\n\n${block("two", "kept")}\n`

describe("a generated block", () => {
  it("is replaced, and nothing else on the page", () => {
    const after = replaced(page, "one", "new\n")
    assert.strictEqual(after, page.replace("old", "new"))
  })

  it("does not change when it is replaced by the same text", () => {
    const after = replaced(page, "two", "a $& b")
    assert.strictEqual(replaced(after, "two", "a $& b"), after)
    assert.include(after, "a $& b")
  })

  it("has to be on the page, with its end before the next block", () => {
    assert.throws(() => replaced(page, "three", "text"), "the pair <!-- generated: three --> and <!-- /generated -->")
    const open = `<!-- generated: one -->\n\nold\n\n${block("two", "kept")}\n`
    assert.throws(() => replaced(open, "one", "text"), "<!-- generated: one -->")
  })
})

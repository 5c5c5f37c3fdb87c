/** The table of the README. */
import { assert, describe, it } from "@effect/vitest"
import * as fs from "node:fs"
import { countLines, table } from "../src/lineCount.ts"

const readme = fs.readFileSync(new URL("../README.md", import.meta.url), "utf8")

describe("the number of lines", () => {
  it("leaves out blank lines and comments", () => {
    const source = [
      "/** A program. */",
      "import * as fs from \"node:fs\"",
      "",
      "/*",
      " * A function",
      " *",
      " */",
      "  // of two lines",
      "const read = () => fs.readFileSync(\"/tmp/*\") // a comment after code",
      "  ",
      "read()"
    ]
    assert.strictEqual(countLines(source.join("\n")), 3)
  })

  it("is that in the README (to update it: pnpm --filter @effect-mcp/comparisons lines)", () => {
    assert.include(readme, table())
  })
})

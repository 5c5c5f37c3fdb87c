/** The lines of a program (`src/lineCount.ts`). */
import { assert, describe, it } from "@effect/vitest"
import { countLines } from "../src/lineCount.ts"

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
})

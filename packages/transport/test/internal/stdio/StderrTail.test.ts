import { assert, describe, it } from "@effect/vitest"
import * as StderrTail from "../../../src/internal/stdio/StderrTail.ts"

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text)

describe("the tail of standard error", () => {
  it("splits lines in chunks of any size", () => {
    const lines = StderrTail.make({ keep: 20, cutAt: 1_000 })
    const ended = [...bytes("one\r\n漢😀\n\nlast")].flatMap((byte) => lines.push(Uint8Array.of(byte)))
    assert.deepStrictEqual(ended, ["one", "漢😀", ""])
    assert.deepStrictEqual(lines.snapshot(), ["one", "漢😀", "", "last"])
    assert.deepStrictEqual(lines.finish(), ["last"])
    assert.deepStrictEqual(lines.finish(), [])
    assert.deepStrictEqual(lines.snapshot(), ["one", "漢😀", "", "last"])
  })

  it("keeps the last lines", () => {
    const lines = StderrTail.make({ keep: 2, cutAt: 1_000 })
    lines.push(bytes("1\n2\n3\n4"))
    assert.deepStrictEqual(lines.snapshot(), ["3", "4"])
    lines.finish()
    assert.deepStrictEqual(lines.snapshot(), ["3", "4"])
  })

  it("law 12: skips the lines of a chunk that it would not keep, with the same report", () => {
    for (const keep of [0, 1, 3]) {
      for (
        const texts of [["1\n2\n3\n4\n5\n6"], ["1\n漢", "😀\n3\n4\n5\n"], ["", "\n\n\n\n\n", "1"], [
          "1\n2\n3",
          "\n4\n5"
        ]]
      ) {
        const all = StderrTail.make({ keep, cutAt: 1_000 })
        const some = StderrTail.make({ keep, cutAt: 1_000 })
        for (const text of texts) {
          all.push(bytes(text))
          some.push(some.lastPart(bytes(text)))
          assert.deepStrictEqual(some.snapshot(), all.snapshot())
        }
        assert.deepStrictEqual(some.finish(), all.finish())
      }
    }
    const many = StderrTail.make({ keep: 20, cutAt: 1_000 })
    assert.lengthOf(many.lastPart(bytes("\n".repeat(65_536))), 20)
  })

  it("skips a character that the last chunk has begun", () => {
    const lines = StderrTail.make({ keep: 1, cutAt: 1_000 })
    lines.push(bytes("漢").subarray(0, 2))
    lines.push(lines.lastPart(bytes("x\n1\n2\n")))
    assert.deepStrictEqual(lines.snapshot(), ["2"])
  })

  it("keeps no line if `keep` is 0", () => {
    const lines = StderrTail.make({ keep: 0, cutAt: 1_000 })
    lines.push(bytes("1\n2"))
    assert.deepStrictEqual(lines.snapshot(), [])
  })

  it("cuts lines of the report at `cutAt`, and lines of the receiver at 65,536 characters", () => {
    const lines = StderrTail.make({ keep: 1, cutAt: 3 })
    assert.deepStrictEqual(lines.push(bytes("12345\n")), ["12345"])
    assert.deepStrictEqual(lines.snapshot(), ["12…"])
    assert.deepStrictEqual(lines.push(bytes(`123\n${"x".repeat(65_536)}\n`)), ["123", "x".repeat(65_536)])
    for (let index = 0; index < 100; index++) lines.push(bytes("x".repeat(10_000)))
    assert.deepStrictEqual(lines.snapshot(), ["xx…"])
    assert.deepStrictEqual(lines.finish(), [`${"x".repeat(65_535)}…`])
  })
})

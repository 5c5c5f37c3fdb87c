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

  it("keeps no line if `keep` is 0", () => {
    const lines = StderrTail.make({ keep: 0, cutAt: 1_000 })
    lines.push(bytes("1\n2"))
    assert.deepStrictEqual(lines.snapshot(), [])
  })

  it("cuts lines of the report at `cutAt`, and lines of the receiver at 65,536 characters", () => {
    const lines = StderrTail.make({ keep: 1, cutAt: 3 })
    assert.deepStrictEqual(lines.push(bytes("12345\n")), ["12345"])
    assert.deepStrictEqual(lines.snapshot(), ["123"])
    for (let index = 0; index < 100; index++) lines.push(bytes("x".repeat(10_000)))
    assert.deepStrictEqual(lines.finish(), ["x".repeat(65_536)])
  })
})

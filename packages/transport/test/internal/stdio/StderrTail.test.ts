import { assert, describe, it } from "@effect/vitest"
import * as StderrTail from "../../../src/internal/stdio/StderrTail.ts"

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text)

describe("LastLines", () => {
  it("splits lines wherever the bytes were cut", () => {
    const lines = StderrTail.make({ keep: 20, cutAt: 1_000 })
    const ended = [...bytes("one\r\n漢😀\n\nlast")].flatMap((byte) => lines.push(Uint8Array.of(byte)))
    assert.deepStrictEqual(ended, ["one", "漢😀", ""])
    assert.deepStrictEqual(lines.snapshot(), ["one", "漢😀", "", "last"])
    assert.deepStrictEqual(lines.finish(), ["last"])
    assert.deepStrictEqual(lines.finish(), [])
    assert.deepStrictEqual(lines.snapshot(), ["one", "漢😀", "", "last"])
  })

  it("remembers the last ones", () => {
    const lines = StderrTail.make({ keep: 2, cutAt: 1_000 })
    lines.push(bytes("1\n2\n3\n4"))
    assert.deepStrictEqual(lines.snapshot(), ["3", "4"])
    lines.finish()
    assert.deepStrictEqual(lines.snapshot(), ["3", "4"])
  })

  it("remembers none if none are to be kept", () => {
    const lines = StderrTail.make({ keep: 0, cutAt: 1_000 })
    lines.push(bytes("1\n2"))
    assert.deepStrictEqual(lines.snapshot(), [])
  })

  it("cuts lines for the report sooner than for the reader", () => {
    const lines = StderrTail.make({ keep: 1, cutAt: 3 })
    assert.deepStrictEqual(lines.push(bytes("12345\n")), ["12345"])
    assert.deepStrictEqual(lines.snapshot(), ["123"])
    for (let index = 0; index < 100; index++) lines.push(bytes("x".repeat(10_000)))
    assert.deepStrictEqual(lines.finish(), ["x".repeat(65_536)])
  })
})

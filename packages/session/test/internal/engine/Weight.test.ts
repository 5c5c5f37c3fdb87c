import { assert, describe, it } from "@effect/vitest"
import * as Weight from "../../../src/internal/engine/Weight.ts"

const weigh = (json: string) => Weight.of(JSON.parse(json))

describe("the weight of a value that was parsed from JSON", () => {
  it("law 12: counts arrays, objects and members", () => {
    assert.deepStrictEqual(
      ["[]", "{}", "[1,true,null]", "{\"ab\":1}", "\"abc\"", "0.5", "[0.5,\"a\"]"].map(weigh),
      [48, 56, 72, 124, 30, 24, 48 + 16 + 24 + 26]
    )
  })

  it("law 12: of small arrays is sixteen times the size of their text", () => {
    const text = `[${Array.from({ length: 20_000 }, () => "[]").join(",")}]`
    assert.isAbove(weigh(text) / text.length, 16)
  })

  it("counts deeply nested arrays", () => {
    const depth = 1_000_000
    let nested: unknown = []
    for (let level = 1; level < depth; level++) nested = [nested]
    assert.strictEqual(Weight.of(nested), 56 * depth - 8)
  })

  it("of a cycle is finite", () => {
    const cycle: Array<unknown> = []
    cycle.push(cycle)
    assert.strictEqual(Weight.of(cycle), 56 * 1_000_000)
  })

  it("is 0 for a value from a transport without bytes", () => {
    assert.deepStrictEqual([Weight.received([1], undefined), Weight.received([1], 3)], [0, 56])
  })
})

describe("the weight of a message that waits to be sent", () => {
  const unlimited = Number.POSITIVE_INFINITY

  it("counts the characters of its texts, and two bytes for each if one is beyond Latin-1", () => {
    for (const [text, bytes] of [["é".repeat(1_000_000), 1_000_000], [`${"x".repeat(999_999)}€`, 2_000_000]] as const) {
      for (const value of [text, [text], { text }, { a: [{ b: text }] }]) {
        const weight = Weight.outgoing(value, unlimited)
        assert.isAtLeast(weight, bytes)
        assert.isAtMost(weight, bytes + 500)
      }
    }
    assert.strictEqual(Weight.outgoing("x".repeat(1024), unlimited), 24 + 2 * 1024)
  })

  it("counts arrays and objects", () => {
    const empty = Array.from({ length: 10_000 }, () => [])
    assert.isAtLeast(Weight.outgoing(empty, unlimited), 10_000 * 48)
    let deep: unknown = {}
    for (let depth = 0; depth < 100_000; depth++) deep = { deep }
    assert.isAtLeast(Weight.outgoing(deep, unlimited), 100_000 * 56)
  })

  it("stops after the limit, so that neither a cycle nor a large value takes long", () => {
    let reads = 0
    const value = Array.from({ length: 1000 }, () => ({
      get text() {
        reads++
        return "x".repeat(100)
      }
    }))
    assert.isAbove(Weight.outgoing(value, 10_000), 10_000)
    assert.isBelow(reads, 100)
    const cycle: Array<unknown> = []
    cycle.push(cycle)
    assert.isAbove(Weight.outgoing(cycle, 10_000), 10_000)
  })

  it("is 0 if a getter throws", () => {
    const thrower = {
      get broken(): string {
        throw new Error("broken")
      }
    }
    assert.strictEqual(Weight.outgoing([thrower], unlimited), 0)
  })
})

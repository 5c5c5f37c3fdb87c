import { assert, it } from "@effect/vitest"
import * as OutgoingWeight from "../../src/internal/OutgoingWeight.ts"

const unlimited = Number.POSITIVE_INFINITY

it("a text weighs two bytes for each character at least, wherever it stands", () => {
  const text = "x".repeat(1_000_000)
  for (const value of [text, [text], { text }, { [text]: 1 }, { a: [{ b: text }] }]) {
    const weight = OutgoingWeight.of(value, unlimited)
    assert.isAtLeast(weight, 2_000_000)
    assert.isAtMost(weight, 2_000_500)
  }
})

it("what is nested weighs by its arrays and objects", () => {
  const empty = Array.from({ length: 10_000 }, () => [])
  assert.isAtLeast(OutgoingWeight.of(empty, unlimited), 10_000 * 48)
  let deep: unknown = {}
  for (let depth = 0; depth < 100_000; depth++) deep = { deep }
  assert.isAtLeast(OutgoingWeight.of(deep, unlimited), 100_000 * 56)
})

it("a value that weighs more than the limit is not looked at any further", () => {
  let looked = 0
  const value = Array.from({ length: 1000 }, () => ({
    get text() {
      looked++
      return "x".repeat(100)
    }
  }))
  assert.isAbove(OutgoingWeight.of(value, 10_000), 10_000)
  assert.isBelow(looked, 100)
  const cycle: Array<unknown> = []
  cycle.push(cycle)
  assert.isAbove(OutgoingWeight.of(cycle, 10_000), 10_000)
})

it("bytes weigh what they are, and what throws weighs as far as it could be looked at", () => {
  const bytes = OutgoingWeight.of(new Uint8Array(1_000_000), unlimited)
  assert.isAtLeast(bytes, 1_000_000)
  assert.isAtMost(bytes, 1_000_100)
  const thrower = {
    text: "x".repeat(1000),
    get broken(): string {
      throw new Error("broken")
    }
  }
  assert.isAtLeast(OutgoingWeight.of(thrower, unlimited), 2000)
})

it("numbers, truth values and nothing at all weigh next to nothing", () => {
  for (const value of [undefined, null, true, 1, 1.5]) assert.isAtMost(OutgoingWeight.of(value, unlimited), 24)
})

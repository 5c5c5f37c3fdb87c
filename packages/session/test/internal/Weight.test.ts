import { assert, describe, it } from "@effect/vitest"
import * as Weight from "../../src/internal/Weight.ts"

const weigh = (json: string) => Weight.of(JSON.parse(json))

describe("the weight of a value that came as JSON", () => {
  it("law 12: counts arrays, objects and members beside their text", () => {
    assert.deepStrictEqual(
      ["[]", "{}", "[1,true,null]", "{\"ab\":1}", "\"abc\"", "0.5", "[0.5,\"a\"]"].map(weigh),
      [48, 56, 72, 124, 30, 24, 48 + 16 + 24 + 26]
    )
  })

  it("law 12: of small arrays is sixteen times their text", () => {
    const text = `[${Array.from({ length: 20_000 }, () => "[]").join(",")}]`
    assert.isAbove(weigh(text) / text.length, 16)
  })

  it("counts what is nested ever so deeply", () => {
    const depth = 1_000_000
    let nested: unknown = []
    for (let level = 1; level < depth; level++) nested = [nested]
    assert.strictEqual(Weight.of(nested), 56 * depth - 8)
  })

  it("ends with a value that contains itself", () => {
    const round: Array<unknown> = []
    round.push(round)
    assert.strictEqual(Weight.of(round), 56 * 1_000_000)
  })

  it("is nothing for what did not come in bytes: that is held by a program in this process", () => {
    assert.deepStrictEqual([Weight.received([1], undefined), Weight.received([1], 3)], [0, 56])
  })
})

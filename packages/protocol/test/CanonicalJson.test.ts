import { assert, describe, it } from "@effect/vitest"
import { CanonicalJson } from "@effect-mcp/protocol"

describe("the canonical text of a value", () => {
  it("does not depend on the order of members, and differs for values that differ", () => {
    assert.strictEqual(
      CanonicalJson.textOf({ b: [1, {}], a: { d: "x", c: null } }),
      CanonicalJson.textOf({ a: { c: null, d: "x" }, b: [1, {}] })
    )
    const values = [
      [],
      [[]],
      [[], []],
      {},
      [{}],
      "",
      [""],
      "[]",
      null,
      "null",
      0,
      "0",
      [1, 2],
      [12],
      ["1,2"],
      { a: 1 },
      {
        a: [1]
      },
      { "a\":1": 1 },
      JSON.parse("{\"__proto__\":1}"),
      JSON.parse("{\"__proto__\":2}"),
      "\ud800",
      "\ufffd"
    ]
    assert.strictEqual(new Set(values.map((value) => CanonicalJson.textOf(value))).size, values.length)
  })

  it("is found for a value that is nested deeply, and not for one that contains itself", () => {
    const depth = 100_000
    const nested = "[".repeat(depth) + "]".repeat(depth)
    assert.lengthOf(CanonicalJson.textOf(JSON.parse(nested)), 3 * depth - 1)
    const endless: Array<unknown> = []
    endless.push(endless)
    assert.throws(() => CanonicalJson.textOf(endless), RangeError)
  })
})

import { assert, describe, it } from "@effect/vitest"
import * as Schema from "effect/Schema"
import * as CanonicalJson from "../../../src/internal/text/CanonicalJson.ts"

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

  it.prop("is JSON of the same value", [Schema.Json], ([value]) => {
    const text = CanonicalJson.textOf(value)
    assert.strictEqual(CanonicalJson.textOf(JSON.parse(text)), text)
    assert.deepStrictEqual(JSON.parse(text), JSON.parse(JSON.stringify(value)))
  })

  it("is that of RFC 8785", () => {
    assert.strictEqual(
      CanonicalJson.textOf({
        "\u20ac": "Euro Sign",
        "\r": "Carriage Return",
        "\ufb33": "Hebrew Letter Dalet With Dagesh",
        "1": "One",
        "\ud83d\ude00": "Emoji: Grinning Face",
        "\u0080": "Control",
        "\u00f6": "Latin Small Letter O With Diaeresis"
      }),
      "{\"\\r\":\"Carriage Return\",\"1\":\"One\",\"\u0080\":\"Control\"," +
        "\"\u00f6\":\"Latin Small Letter O With Diaeresis\",\"\u20ac\":\"Euro Sign\"," +
        "\"\ud83d\ude00\":\"Emoji: Grinning Face\",\"\ufb33\":\"Hebrew Letter Dalet With Dagesh\"}"
    )
    assert.strictEqual(
      CanonicalJson.textOf({ literals: [null, true, false], numbers: [333333333.3333333, 1e30, 4.50, 2e-3, 1e-27] }),
      "{\"literals\":[null,true,false],\"numbers\":[333333333.3333333,1e+30,4.5,0.002,1e-27]}"
    )
  })

  it("is found for a value that is nested deeply, and not for one that contains itself", () => {
    const depth = 100_000
    const nested = "[".repeat(depth) + "]".repeat(depth)
    assert.lengthOf(CanonicalJson.textOf(JSON.parse(nested)), 2 * depth)
    const endless: Array<unknown> = []
    endless.push(endless)
    assert.throws(() => CanonicalJson.textOf(endless), RangeError)
  })
})

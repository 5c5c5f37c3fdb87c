import { ExactJson } from "@effect-mcp/protocol"
import { assert, describe, it } from "@effect/vitest"
import * as Arbitrary from "effect/Arbitrary"
import * as Equal from "effect/Equal"
import * as Schema from "effect/Schema"

const written = (text: string): string => JSON.stringify(ExactJson.parse(text))

describe("ExactJson.parse", () => {
  it("keeps the digits of integers that a number does not hold", () => {
    for (
      const text of [
        `{"id":1915883588174806058}`,
        `{"id":-9007199254740993,"other":1}`,
        `[1,9007199254740993,{"a":[18446744073709551615]}]`,
        String.raw`{"a":"\"1915883588174806058\\","b":1915883588174806058}`,
        `{"__proto__":1915883588174806058}`,
        `[${"9".repeat(128)}]`
      ]
    ) assert.strictEqual(written(text), text)
  })

  it("has the numbers of JSON.parse, and no members that a program sees", () => {
    for (const text of [`{"id":1915883588174806058,"list":[9007199254740993,1.5]}`, `[-9007199254740993]`]) {
      const value = ExactJson.parse(text)
      assert.deepStrictEqual(value, JSON.parse(text))
      assert.deepStrictEqual(Object.keys(Object(value)), Object.keys(JSON.parse(text)))
    }
  })

  it("reads fractions, exponents, longer integers and single numbers as JSON.parse does", () => {
    for (
      const text of [
        `{"a":0.12345678901234567,"b":1234567890123456789.5,"c":1234567890123456789e5,"d":1e-1234567890123456789}`,
        `[${"9".repeat(129)}]`,
        "1915883588174806058",
        `{"toJSON":1,"id":1915883588174806058}`
      ]
    ) assert.strictEqual(written(text), JSON.stringify(JSON.parse(text)))
  })

  it("rejects what JSON.parse rejects", () => {
    for (const text of [`{1915883588174806058:1}`, `[01915883588174806058]`, `[1915883588174806058`, ""]) {
      assert.throws(() => ExactJson.parse(text), SyntaxError)
    }
  })

  it("writes the number that a program has put in the place of an integer", () => {
    const value = ExactJson.parse(`{"id":1915883588174806058}`)
    Reflect.set(Object(value), "id", 7)
    assert.strictEqual(JSON.stringify(value), `{"id":7}`)
    assert.isUndefined(ExactJson.changedIn(value))
  })

  it("keeps no digits for a member that a later one of the same name replaces", () => {
    const text = `{"a":[[9007199254740993]],"a":1,"b":9007199254740993,"b":7}`
    assert.strictEqual(written(text), `{"a":1,"b":7}`)
  })

  it("reads integers within 2^53, and digits within strings, without a function toJSON", () => {
    for (const text of [`{"id":9007199254740991}`, `{"id":"1915883588174806058","text":"[ 1915883588174806058 ]"}`]) {
      assert.isFalse("toJSON" in Object(ExactJson.parse(text)))
    }
  })

  it("finds the integers at every offset of a text", () => {
    for (let offset = 0; offset < 40; offset++) {
      const text = `{"a":"${"x".repeat(offset)}","b":-9007199254740993,"c":[1,9007199254740993]}`
      assert.strictEqual(written(text), text)
    }
  })

  it("reads a deeply nested text without recursion", () => {
    const depth = 20_000
    const value = ExactJson.parse(`${"[".repeat(depth)}9007199254740993${"]".repeat(depth)}`)
    assert.deepStrictEqual(ExactJson.changedIn(value), { name: "0", digits: "9007199254740993" })
  })

  it("returns values that are equal if their members are", () => {
    const text = `{"a":[9007199254740993]}`
    assert.isTrue(Equal.equals(ExactJson.parse(text), ExactJson.parse(text)))
    assert.isFalse(Equal.equals(ExactJson.parse(text), ExactJson.parse(`{"a":[9007199254740995]}`)))
  })

  it.prop("equals JSON.parse for every JSON value", [Arbitrary.schema(Schema.Json)], ([json]) => {
    const text = JSON.stringify([json, 1])
    assert.deepStrictEqual(ExactJson.parse(text), JSON.parse(text))
  })
})

describe("ExactJson.changedIn", () => {
  it("returns the integer whose digits have changed", () => {
    assert.deepStrictEqual(ExactJson.changedIn(ExactJson.parse(`{"a":[{"id":9007199254740993}]}`)), {
      name: "id",
      digits: "9007199254740993"
    })
    for (const text of [`{"id":9007199254740992}`, `{"id":"9007199254740993"}`, `[100000000000000000000]`]) {
      assert.isUndefined(ExactJson.changedIn(ExactJson.parse(text)), text)
    }
  })

  it("finds integers beside a member with the name toJSON", () => {
    const value = ExactJson.parse(`{"toJSON":1,"id":9007199254740993}`)
    assert.strictEqual(ExactJson.changedIn(value)?.digits, "9007199254740993")
  })
})

import { Pattern } from "@effect-mcp/testing/arbitrary"
import { assert, describe, it } from "@effect/vitest"
import * as Arbitrary from "effect/Arbitrary"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import { patterns } from "./support/transcripts.ts"

const read = (text: string) => Result.getOrThrow(Pattern.parse(text))

const problemOf = (text: string) => {
  const parsed = Pattern.parse(text)
  return Result.isFailure(parsed) ? parsed.failure.message : undefined
}

const misfit = (pattern: string, value: unknown) => {
  const matched = Pattern.match(read(pattern), value)
  return Result.isFailure(matched) ? matched.failure : undefined
}

const json = Arbitrary.schema(Schema.Json)

/** Returns the value as a peer receives it: without minus zero. */
const overTheWire = (value: Schema.Json): unknown => JSON.parse(JSON.stringify(value))

describe("Pattern", () => {
  it.prop("a printed pattern is parsed as an equal one", [patterns], ([pattern]) => {
    assert.deepStrictEqual(Pattern.parse(Pattern.print(pattern)), Result.succeed(pattern))
  })

  it.prop("every JSON text is the pattern of its value", [json, json], ([value, other]) => {
    const [one, another] = [overTheWire(value), overTheWire(other)]
    const pattern = read(JSON.stringify(value, undefined, 1).replaceAll("\n", " "))
    assert.deepStrictEqual(Pattern.fill(pattern), Result.succeed(one))
    assert.deepStrictEqual(Pattern.exactly(one), pattern)
    assert.isTrue(Result.isSuccess(Pattern.match(pattern, one)))
    assert.strictEqual(
      Result.isSuccess(Pattern.match(pattern, another)),
      Result.isSuccess(Pattern.match(Pattern.exactly(another), one))
    )
  })

  it("an error names the column and the expected text", () => {
    assert.strictEqual(problemOf(""), "column 1: expected a JSON value, _ or $name, found the end of the line")
    assert.strictEqual(problemOf("{\"a\" 1}"), "column 6: expected :, found 1")
    assert.strictEqual(problemOf("{a: 1}"), "column 2: expected the name of a member in quotes, or ..., found a")
    assert.strictEqual(problemOf("[1 2]"), "column 4: expected , or ], found 2")
    assert.strictEqual(problemOf("{..., \"a\":1}"), "column 5: expected } after ..., found ,")
    assert.strictEqual(problemOf("1 \"x\""), "column 3: expected the end of the line, found \"x\"")
    assert.strictEqual(problemOf("[1e999]"), "column 2: expected a number that is finite, found 1e999")
    assert.strictEqual(problemOf("\"a\tb\""), "column 1: expected a text as JSON has it, found \"a\tb\"")
    assert.strictEqual(problemOf("[\"\\x\"]"), "column 2: expected a text as JSON has it, found \"\\x\"")
    assert.strictEqual(problemOf("[01]"), "column 3: expected , or ], found 1")
    assert.strictEqual(problemOf("[".repeat(600)), "column 502: expected at most 500 levels, found [")
  })

  it("members fit in any order, and others do not fit", () => {
    assert.isUndefined(misfit("{\"a\":1,\"b\":[_]}", { b: [{}], a: 1 }))
    assert.deepStrictEqual(misfit("{\"a\":{}}", { a: { b: "c" } }), {
      path: ["a", "b"],
      expected: "nothing",
      found: "\"c\""
    })
    assert.isUndefined(misfit("{\"a\":{...}, ...}", { a: { b: "c" }, d: 1 }))
    assert.deepStrictEqual(misfit("{\"a\":_, ...}", {}), { path: ["a"], expected: "_", found: "nothing" })
    assert.deepStrictEqual(misfit("{\"toString\":_}", {}), { path: ["toString"], expected: "_", found: "nothing" })
  })

  it("elements fit in their order, and others do not fit", () => {
    assert.isUndefined(misfit("[1, ...]", [1, 2, 3]))
    assert.deepStrictEqual(misfit("[1]", [1, 2]), { path: [1], expected: "nothing", found: "2" })
    assert.deepStrictEqual(misfit("[1,2]", [1]), { path: [1], expected: "2", found: "nothing" })
    assert.deepStrictEqual(misfit("[1,2]", [2, 1]), { path: [0], expected: "1", found: "2" })
    assert.deepStrictEqual(misfit("{}", []), { path: [], expected: "an object", found: "[]" })
    assert.deepStrictEqual(misfit("[]", {}), { path: [], expected: "an array", found: "{}" })
  })

  it("a name is the same value everywhere", () => {
    const bound = Pattern.match(read("[$a,$b]"), [1, { x: [2] }])
    const bindings = Result.getOrThrow(bound)
    assert.deepStrictEqual(Array.from(bindings), [["a", 1], ["b", { x: [2] }]])
    assert.isUndefined(misfit("[$a,$a]", [{ x: 1, y: 2 }, { y: 2, x: 1 }]))
    assert.deepStrictEqual(misfit("[$a,$a]", [1, "1"]), { path: [1], expected: "$a, which is 1", found: "\"1\"" })
    assert.deepStrictEqual(Pattern.fill(read("{\"id\":$b}"), bindings), Result.succeed({ id: { x: [2] } }))
    assert.deepStrictEqual(Pattern.fill(read("$c"), bindings), Result.fail({ _tag: "Unbound", name: "c" }))
    assert.deepStrictEqual(Pattern.fill(read("[...]"), bindings), Result.fail({ _tag: "Wildcard" }))
  })

  it("a member named __proto__ is a member", () => {
    const value: unknown = JSON.parse("{\"__proto__\":{\"a\":1}}")
    const pattern = read("{\"__proto__\":{\"a\":1}}")
    assert.isTrue(Result.isSuccess(Pattern.match(pattern, value)))
    assert.strictEqual(JSON.stringify(Result.getOrThrow(Pattern.fill(pattern))), JSON.stringify(value))
    assert.isTrue(Result.isFailure(Pattern.match(pattern, {})))
  })
})

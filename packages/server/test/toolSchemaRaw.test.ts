import { ExactJson } from "@effect-mcp/protocol"
import { assert, describe, it } from "@effect/vitest"
import { Ajv2020 } from "ajv/dist/2020.js"
import * as Cause from "effect/Cause"
import * as Exit from "effect/Exit"
import * as Result from "effect/Result"
import * as Misfit from "../src/internal/schema/Misfit.ts"
import * as RawInput from "../src/internal/schema/RawInput.ts"

const subject = "the parameters of the tool \"raw\""

const schema = { type: "object", properties: { a: { type: "integer" } }, required: ["a"] } as const

/** A validator by Ajv. */
const validator: RawInput.Validator = {
  compile: (json) => {
    const ajv = new Ajv2020({ strict: false })
    try {
      const check = ajv.compile(json)
      return Result.succeed((value) => check(value) ? undefined : ajv.errorsText(check.errors))
    } catch (thrown) {
      return Result.fail(new Error(`unsupported schema: ${String(thrown)}`))
    }
  }
}

const rejection = (made: Result.Result<unknown, Error>): string | undefined =>
  Result.isFailure(made) ? made.failure.message : undefined

describe("a raw JSON Schema", () => {
  it("is kept as it is, and does not change later", () => {
    const json = {
      ...structuredClone(schema),
      "x-other": [1, null],
      $schema: "http://json-schema.org/draft-07/schema#"
    }
    const made = Result.getOrThrow(RawInput.rawSchema(json, subject))
    assert.deepStrictEqual(made, json)
    json["x-other"].push(2)
    assert.deepStrictEqual(made["x-other"], [1, null])
  })

  it("is rejected unless its root is of type object", () => {
    for (const json of [{}, { type: "string" }, { type: ["object"] }, { $ref: "#/$defs/a", $defs: {} }]) {
      assert.strictEqual(
        rejection(RawInput.rawSchema(json, subject)),
        `${subject}: the root of a tool's schema has the type "object"; add it, and inline a $ref or allOf of the root`
      )
    }
  })

  it("is rejected unless it is plain JSON", () => {
    const cyclic: { type: string; self?: unknown } = { type: "object" }
    cyclic.self = cyclic
    const others = [
      cyclic,
      true,
      null,
      [],
      "object",
      { type: "object", a: 1n },
      { type: "object", a: undefined },
      { type: "object", a: Number.NaN },
      { type: "object", a: new Date(0) },
      { type: "object", a: () => 1 }
    ]
    for (const json of others) assert.include(rejection(RawInput.rawSchema(json, subject)), "plain JSON")
    let deep: unknown = {}
    for (let depth = 0; depth < 100_000; depth++) deep = { not: deep }
    assert.include(rejection(RawInput.rawSchema({ type: "object", not: deep }, subject)), "nested too deeply")
  })
})

describe("the check of arguments", () => {
  it("accepts what the validator accepts", () => {
    const check = Result.getOrThrow(RawInput.checker(schema, { subject, validator }))
    assert.deepStrictEqual(check({ a: 1, b: 2 }), Exit.succeed({ a: 1, b: 2 }))
    assert.deepStrictEqual(
      check({ a: "x" }),
      Exit.fail(new Misfit.Misfit({ problem: "the arguments: data/a must be integer" }))
    )
    assert.deepStrictEqual(check([1]), Exit.fail(new Misfit.Misfit({ problem: "the arguments: Expected an object" })))
  })

  it("is prepared once", () => {
    let compiled = 0
    const counting: RawInput.Validator = {
      compile: (json) => {
        compiled++
        return validator.compile(json)
      }
    }
    const check = Result.getOrThrow(RawInput.checker(schema, { subject, validator: counting }))
    check({ a: 1 })
    check({ a: 2 })
    assert.strictEqual(compiled, 1)
  })

  it("cannot be prepared for a schema that the validator rejects", () => {
    const made = RawInput.checker({ type: "object", properties: { a: { type: "nothing" } } }, { subject, validator })
    assert.include(rejection(made), `${subject}: unsupported schema: `)
  })

  it("contains a validator that throws", () => {
    const throwing = RawInput.checker(schema, {
      subject,
      validator: {
        compile: () => {
          throw new Error("broken")
        }
      }
    })
    assert.strictEqual(rejection(throwing), `${subject}: the validator threw Error: broken`)
    const check = Result.getOrThrow(RawInput.checker(schema, {
      subject,
      validator: {
        compile: () =>
          Result.succeed(() => {
            throw new Error("broken")
          })
      }
    }))
    const exit = check({ a: 1 })
    assert.isTrue(Exit.isFailure(exit) && Cause.hasDies(exit.cause))
  })

  it("has a problem of bounded length", () => {
    const check = Result.getOrThrow(RawInput.checker(schema, {
      subject,
      validator: { compile: () => Result.succeed(() => "é".repeat(100_000)) }
    }))
    const exit = check({ a: 1 })
    const failure = Exit.isFailure(exit) ? exit.cause.reasons.find(Cause.isFailReason) : undefined
    assert.isAtMost(new TextEncoder().encode(failure?.error.problem).length, 4096)
    assert.match(failure?.error.problem ?? "", /^the arguments: é+…$/)
  })
})

describe("the arguments of a raw JSON Schema", () => {
  it("with an integer that JavaScript would change are rejected, with its digits", () => {
    const check = Result.getOrThrow(RawInput.checker(schema, { subject, validator }))
    const rejected = check(ExactJson.parse(`{"a":9007199254740993}`))
    assert.isTrue(Exit.isFailure(rejected))
    assert.include(
      JSON.stringify(rejected),
      "the integer 9007199254740993 at [\\\"a\\\"] is beyond 2^53, and would become 9007199254740992; " +
        "send it as a string"
    )
    assert.isTrue(Exit.isSuccess(check(ExactJson.parse(`{"a":9007199254740992}`))))
  })
})

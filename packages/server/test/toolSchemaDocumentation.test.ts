import { assert, describe, it } from "@effect/vitest"
import * as Schema from "effect/Schema"
import { inputSchema, output, propertySchema } from "./toolSchemas.ts"

const described = { description: "described" }

class Task extends Schema.Class<Task>("Task")({ due: Schema.Date }) {}

const schemas: { readonly [name: string]: Schema.Top } = {
  "Schema.Date": Schema.Date,
  "DateFromString": Schema.DateFromString,
  "DateTimeUtc": Schema.DateTimeUtc,
  "DateTimeZoned": Schema.DateTimeZoned,
  "FiniteFromString": Schema.FiniteFromString,
  "BigInt": Schema.BigInt,
  "a class": Task,
  "Option": Schema.Option(Schema.Int),
  "Duration": Schema.Duration,
  "Uint8Array": Schema.Uint8Array,
  "ReadonlyMap": Schema.ReadonlyMap(Schema.String, Schema.Int),
  "a brand": Schema.String.pipe(Schema.brand("Id")),
  "literals": Schema.Literals(["a", "b"]),
  "a union": Schema.Union([Schema.String, Schema.Finite]),
  "Number": Schema.Number,
  "an array": Schema.Array(Schema.Date),
  "a record": Schema.Record(Schema.String, Schema.Date),
  "a suspended schema": Schema.suspend(() => Task),
  "Unknown": Schema.Unknown,
  "a predicate": Schema.String.check(Schema.makeFilter((text: string) => text !== "x")),
  "a check of a date": Schema.Date.check(Schema.makeFilter((date: Date) => date.getTime() > 0))
}

describe("descriptions do not vanish", () => {
  for (const [name, schema] of Object.entries(schemas)) {
    it(`on ${name}`, () => {
      assert.containSubset(propertySchema(schema.annotate({ ...described, title: "titled" })), {
        ...described,
        title: "titled"
      })
    })

    it(`on a key of ${name}`, () => {
      const key = propertySchema(schema.annotate({ description: "other" }).annotateKey(described))
      assert.containSubset(key, described)
      assert.notProperty(key, "allOf")
      assert.containSubset(propertySchema(Schema.optionalKey(schema).annotateKey(described)), described)
    })

    it(`on the elements of an array of ${name}`, () => {
      assert.containSubset(propertySchema(Schema.Array(schema.annotate(described))), { items: described })
    })
  }

  it("on the elements of a tuple", () => {
    const tuple = Schema.Tuple([
      Schema.Date.annotateKey(described),
      Schema.optionalKey(Schema.BigInt.annotate(described))
    ])
    assert.containSubset(propertySchema(tuple), { prefixItems: [described, described] })
  })

  it("on the root and the definitions", () => {
    class User extends Schema.Class<User>("User")({ born: Schema.Date.annotate(described) }, described) {}
    assert.containSubset(inputSchema(User), { ...described, properties: { born: described } })
    assert.containSubset(inputSchema(Schema.Struct({ a: User, b: User })), { $defs: { User: described } })
  })

  it("below null", () => {
    for (
      const schema of [Schema.optional(Schema.Date.annotate(described)), Schema.NullOr(Schema.Int.annotate(described))]
    ) {
      assert.containSubset(propertySchema(schema), described)
      assert.containSubset(propertySchema(schema.annotate({ description: "outer" })), { description: "outer" })
      assert.containSubset(propertySchema(schema.annotateKey({ description: "key" })), { description: "key" })
    }
    const either = Schema.NullOr(Schema.Union([Schema.Int.annotate(described), Schema.String]))
    assert.notProperty(propertySchema(either), "description")
  })

  it("before a check, and of the outer schema rather than the inner one", () => {
    assert.containSubset(
      propertySchema(Schema.Date.annotate(described).check(Schema.makeFilter(() => true))),
      described
    )
    assert.containSubset(
      propertySchema(
        Schema.String.annotate({ description: "inner" }).pipe(Schema.decodeTo(Schema.String.annotate(described)))
      ),
      described
    )
    assert.containSubset(
      propertySchema(Schema.String.annotate(described).pipe(Schema.decodeTo(Schema.String))),
      described
    )
  })

  it("in a success too", () => {
    const { jsonSchema } = output(
      Schema.Struct({ a: Schema.Date.annotate(described), b: Schema.BigInt.annotateKey(described) })
    )
    assert.containSubset(jsonSchema, { properties: { a: described, b: described } })
  })
})

describe("what a JSON Schema cannot express", () => {
  it("describes a schema without a description", () => {
    assert.deepStrictEqual(propertySchema(Schema.String.check(Schema.isPattern(/^[a-z]+$/))), {
      type: "string",
      description: "a string matching the RegExp ^[a-z]+$"
    })
    assert.containSubset(propertySchema(Schema.FiniteFromString.check(Schema.isGreaterThan(1))), {
      description: "a finite number and a value greater than 1"
    })
    assert.containSubset(propertySchema(Schema.DateTimeZoned), {
      description: "a zoned DateTime string (e.g. 2024-01-01T00:00:00.000+00:00[Europe/London])"
    })
  })

  it("does not replace a description", () => {
    assert.deepStrictEqual(propertySchema(Schema.String.check(Schema.isPattern(/^[a-z]+$/)).annotate(described)), {
      type: "string",
      ...described
    })
  })

  it("is not repeated for what it can express", () => {
    assert.deepStrictEqual(propertySchema(Schema.Finite.check(Schema.isGreaterThan(1))), {
      type: "number",
      exclusiveMinimum: 1
    })
  })
})

describe("examples and defaults", () => {
  it("are encoded", () => {
    const date = new Date(0)
    assert.containSubset(propertySchema(Schema.Date.annotate({ examples: [date], default: date })), {
      examples: ["1970-01-01T00:00:00.000Z"],
      default: "1970-01-01T00:00:00.000Z"
    })
    assert.containSubset(propertySchema(Schema.BigInt.annotateKey({ examples: [1n, 2n], default: 3n })), {
      examples: ["1", "2"],
      default: "3"
    })
    assert.containSubset(propertySchema(Schema.Finite.annotate({ examples: [1], default: 0 })), {
      examples: [1],
      default: 0
    })
  })

  it("of a struct with dates are encoded", () => {
    const example = { due: new Date(0), limit: 5 }
    const schema = Schema.Struct({ due: Schema.Date, limit: Schema.FiniteFromString }).annotate({ examples: [example] })
    assert.containSubset(propertySchema(schema), { examples: [{ due: "1970-01-01T00:00:00.000Z", limit: "5" }] })
  })

  it("of a class are encoded", () => {
    assert.containSubset(propertySchema(Task.annotate({ examples: [new Task({ due: new Date(0) })] })), {
      examples: [{ due: "1970-01-01T00:00:00.000Z" }]
    })
  })

  it("that do not fit are left out", () => {
    const schema = Schema.Struct({ a: Schema.FiniteFromString }).annotate({ examples: [{ a: Number.NaN }] })
    assert.notProperty(propertySchema(schema), "examples")
  })
})

import { AjvValidator } from "@effect-mcp/json-schema"
import { JsonSchemaArbitrary } from "@effect-mcp/testing/arbitrary"
import { assert, describe, it } from "@effect/vitest"
import * as Arbitrary from "effect/Arbitrary"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"

const number = { type: "number" }
const string = { type: "string" }

/** Supported schemas, with the least number of distinct values. */
const supported = {
  "any value": { schema: {}, variety: 20 },
  "null": { schema: { type: "null" }, variety: 1 },
  "booleans": { schema: { type: "boolean" }, variety: 2 },
  "numbers": { schema: number, variety: 20 },
  "numbers in a range": { schema: { ...number, exclusiveMinimum: 0, maximum: 1 }, variety: 20 },
  "integers": { schema: { type: "integer" }, variety: 10 },
  "integers in a range": { schema: { type: "integer", minimum: -3, exclusiveMaximum: 4, multipleOf: 2 }, variety: 3 },
  "strings": { schema: string, variety: 20 },
  "strings of a length": { schema: { ...string, minLength: 2, maxLength: 3 }, variety: 20 },
  "strings of a pattern": { schema: { ...string, pattern: "^[a-z]{2}-\\d+$" }, variety: 20 },
  "a format, which says nothing": { schema: { ...string, format: "email" }, variety: 20 },
  "enum": { schema: { enum: ["a", 1, true, null] }, variety: 4 },
  "const": { schema: { const: "a" }, variety: 1 },
  "a list of types": { schema: { type: ["string", "null"] }, variety: 10 },
  "arrays": { schema: { type: "array", items: number, minItems: 1, maxItems: 3 }, variety: 20 },
  "arrays of different items": { schema: { type: "array", items: { enum: [1, 2, 3] }, uniqueItems: true }, variety: 5 },
  "tuples": { schema: { type: "array", prefixItems: [number, string], items: false }, variety: 10 },
  "properties, some of them required": {
    schema: { type: "object", properties: { a: string, b: number }, required: ["b", "c"] },
    variety: 20
  },
  "properties, and no others": {
    schema: { type: "object", properties: { a: { type: "boolean" } }, additionalProperties: false },
    variety: 3
  },
  "no properties": { schema: { type: "object", additionalProperties: false }, variety: 1 },
  "further properties of one kind": {
    schema: { type: "object", additionalProperties: number },
    variety: 20
  },
  "a number of properties": { schema: { type: "object", minProperties: 1, maxProperties: 2 }, variety: 20 },
  "names of Object.prototype": {
    schema: {
      type: "object",
      properties: { constructor: number, toString: string },
      required: ["constructor", "toString"]
    },
    variety: 20
  },
  "any of": { schema: { anyOf: [{ ...number, minimum: 7 }, { type: "null" }] }, variety: 10 },
  "one of": {
    schema: {
      oneOf: [
        { type: "object", properties: { kind: { const: "a" }, a: number }, required: ["kind", "a"] },
        { type: "object", properties: { kind: { const: "b" } }, required: ["kind"] }
      ]
    },
    variety: 20
  },
  "all of": { schema: { allOf: [{ type: "object", properties: { a: string } }, { required: ["a"] }] }, variety: 20 },
  "definitions": {
    schema: {
      $defs: { node: { type: "object", properties: { next: { $ref: "#/$defs/node" }, value: number } } },
      $ref: "#/$defs/node"
    },
    variety: 20
  },
  "draft-07": {
    schema: {
      $schema: "http://json-schema.org/draft-07/schema#",
      type: "array",
      items: [number, { $ref: "#/definitions/word" }],
      definitions: { word: string }
    },
    variety: 10
  },
  "words that no draft knows": { schema: { ...number, "x-order": 1, "not-a-keyword": { not: {} } }, variety: 20 }
} as const

/** Rejected schemas, with the place of the keyword. */
const refused = {
  "not": { schema: { type: "object", properties: { a: { not: string } } }, path: ["properties", "a", "not"] },
  "if": { schema: { items: { if: string, then: { minLength: 1 } } }, path: ["items", "if"] },
  "patternProperties": { schema: { patternProperties: { "^a": number } }, path: ["patternProperties"] },
  "contains": { schema: { anyOf: [string, { contains: number }] }, path: ["anyOf", "1", "contains"] },
  "dependentRequired": { schema: { dependentRequired: { a: ["b"] } }, path: ["dependentRequired"] },
  "unevaluatedProperties": { schema: { unevaluatedProperties: false }, path: ["unevaluatedProperties"] },
  "propertyNames": { schema: { propertyNames: { maxLength: 1 } }, path: ["propertyNames"] },
  "$id": { schema: { $defs: { a: { $id: "a" } } }, path: ["$defs", "a", "$id"] },
  "enum": { schema: { enum: [1, { a: 1 }] }, path: ["enum"] },
  "const": { schema: { properties: { not: { const: [] } } }, path: ["properties", "not", "const"] },
  "type": { schema: { type: ["string", "text"] }, path: ["type"] },
  "$ref": { schema: { type: "object", properties: { a: { $ref: "#" } } }, path: ["properties", "a", "$ref"] },
  "additionalProperties": {
    schema: { items: { type: "object", properties: { a: string }, additionalProperties: number } },
    path: ["items", "additionalProperties"]
  },
  "pattern": { schema: { type: "string", pattern: "(" }, path: ["pattern"] }
} as const

const samples = 60

describe("JsonSchemaArbitrary", () => {
  for (const [what, { schema, variety }] of Object.entries(supported)) {
    it.effect(`generates ${what}`, () =>
      Effect.gen(function*() {
        const check = Result.getOrThrow(AjvValidator.make().compile(schema))
        const arbitrary = Result.getOrThrow(JsonSchemaArbitrary.make(schema))
        const values = yield* Arbitrary.sampleEffect(arbitrary, { count: samples, seed: what })
        for (const value of values) assert.isUndefined(check(value), JSON.stringify(value))
        assert.isAtLeast(new Set(values.map((value) => JSON.stringify(value))).size, variety)
      }))
  }

  for (const [keyword, { path, schema }] of Object.entries(refused)) {
    it(`rejects ${keyword}, and names its place`, () => {
      const error = Result.getOrThrow(Result.flip(JsonSchemaArbitrary.make(schema)))
      assert.deepStrictEqual([error.keyword, error.path], [keyword, path])
      assert.include(error.message, JSON.stringify(keyword))
    })
  }

  it("rejects a schema that no value fits, and an endless recursion", () => {
    const endless = {
      $defs: { a: { type: "object", properties: { a: { $ref: "#/$defs/a" } }, required: ["a"] } },
      $ref: "#/$defs/a"
    }
    for (const schema of [endless, { type: "string", minLength: 3, maxLength: 2 }]) {
      const error = Result.getOrThrow(Result.flip(JsonSchemaArbitrary.make(schema)))
      assert.isUndefined(error.keyword)
      assert.match(error.message, /^no values can be generated from the schema: \w/)
    }
  })

  it.effect("values of an Effect Schema fit the JSON Schema made from it", () =>
    Effect.gen(function*() {
      const { schema } = Schema.toJsonSchemaDocument(
        Schema.Struct({
          name: Schema.NonEmptyString,
          level: Schema.Literals(["low", "high"]),
          count: Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 9 })),
          tags: Schema.optionalKey(Schema.Array(Schema.String)),
          at: Schema.Union([Schema.Null, Schema.Struct({ x: Schema.Finite })])
        })
      )
      const check = Result.getOrThrow(AjvValidator.make().compile(schema))
      const arbitrary = Result.getOrThrow(JsonSchemaArbitrary.make(schema))
      for (const value of yield* Arbitrary.sampleEffect(arbitrary, { count: samples })) {
        assert.isUndefined(check(value), JSON.stringify(value))
      }
    }))
})

/**
 * The laws of JSON Schema validators, as a suite of Vitest tests: which values fit, and that the check of a hostile
 * schema is rejected or takes bounded time.
 *
 * @stability unstable
 */
import type { JsonSchemaValidator, UnsupportedSchemaError } from "@effect-mcp/session"
import { assert, describe, it } from "@effect/vitest"
import * as Arbitrary from "effect/Arbitrary"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"

/** A schema, values that fit it, and values that do not. */
interface Row {
  readonly schema: JsonSchemaValidator.JsonSchema
  readonly fit: ReadonlyArray<unknown>
  readonly misfit: ReadonlyArray<unknown>
}

const number = { type: "number" }
const string = { type: "string" }

const rows: Readonly<Record<string, Row>> = {
  "nothing": { schema: {}, fit: [null, 1, "a", [], {}], misfit: [] },
  "type": { schema: { type: ["object", "null"] }, fit: [{}, null], misfit: [[], 1, "{}"] },
  "integer": { schema: { type: "integer" }, fit: [1, 1.0, -3], misfit: [1.5, "1"] },
  "enum and const": { schema: { enum: ["a", { b: [1] }], not: { const: "a" } }, fit: [{ b: [1] }], misfit: ["a", {}] },
  "numbers": {
    schema: { minimum: 0, exclusiveMaximum: 10, multipleOf: 0.5 },
    fit: [0, 9.5, "not a number"],
    misfit: [-1, 10, 0.3]
  },
  "strings count characters": {
    schema: { minLength: 2, maxLength: 3 },
    fit: ["ab", "😀😀😀"],
    misfit: ["a", "😀", "abcd"]
  },
  "patterns are not anchored": { schema: { pattern: "b+" }, fit: ["abc"], misfit: ["ac"] },
  "patterns know Unicode": { schema: { pattern: "^\\p{L}.$" }, fit: ["é😀"], misfit: ["1a", "abc"] },
  "properties": {
    schema: {
      properties: { a: number },
      patternProperties: { "^x": string },
      additionalProperties: false,
      required: ["a"]
    },
    fit: [{ a: 1 }, { a: 1, xy: "z" }, []],
    misfit: [{}, { a: "1" }, { a: 1, xy: 1 }, { a: 1, b: 2 }]
  },
  "numbers of properties": {
    schema: { minProperties: 1, maxProperties: 2 },
    fit: [{ a: 1 }],
    misfit: [{}, { a: 1, b: 2, c: 3 }]
  },
  "names of properties": { schema: { propertyNames: { maxLength: 1 } }, fit: [{ a: 1 }], misfit: [{ ab: 1 }] },
  "dependencies": {
    schema: { dependentRequired: { a: ["b"] }, dependentSchemas: { c: { required: ["d"] } } },
    fit: [{}, { a: 1, b: 1 }, { c: 1, d: 1 }],
    misfit: [{ a: 1 }, { c: 1 }]
  },
  "arrays": {
    schema: { items: number, minItems: 1, maxItems: 3, uniqueItems: true },
    fit: [[1, 2, 3]],
    misfit: [[], [1, 1], ["1"], [1, 2, 3, 4]]
  },
  "tuples": {
    schema: { prefixItems: [number, string], items: false },
    fit: [[1, "a"], [1]],
    misfit: [["a"], [1, "a", 2]]
  },
  "contains": {
    schema: { contains: number, minContains: 1, maxContains: 2 },
    fit: [["a", 1]],
    misfit: [["a"], [1, 2, 3]]
  },
  "all, any, one, not": {
    schema: {
      allOf: [number, { minimum: 1 }],
      anyOf: [{ maximum: 3 }, { minimum: 7 }],
      oneOf: [{ const: 2 }, { minimum: 2 }]
    },
    fit: [3, 8],
    misfit: [0, 2, 5, "3"]
  },
  "if": {
    schema: {
      if: { properties: { a: { const: 1 } }, required: ["a"] },
      then: { required: ["b"] },
      else: { required: ["c"] }
    },
    fit: [{ a: 1, b: 1 }, { c: 1 }],
    misfit: [{ a: 1 }, {}]
  },
  "what nothing else has looked at": {
    schema: { allOf: [{ properties: { a: number } }], unevaluatedProperties: false },
    fit: [{}, { a: 1 }],
    misfit: [{ a: 1, b: 2 }]
  },
  "definitions": {
    schema: { $defs: { positive: { exclusiveMinimum: 0 } }, properties: { a: { $ref: "#/$defs/positive" } } },
    fit: [{ a: 1 }],
    misfit: [{ a: 0 }]
  },
  "anchors": {
    schema: { $defs: { n: { $anchor: "n", ...number } }, items: { $ref: "#n" } },
    fit: [[1]],
    misfit: [["a"]]
  },
  "keywords beside a reference": {
    schema: { $defs: { n: number }, $ref: "#/$defs/n", minimum: 1 },
    fit: [1],
    misfit: [0, "a"]
  },
  "recursion": {
    schema: { type: "object", properties: { next: { $ref: "#" } }, additionalProperties: false },
    fit: [{ next: { next: {} } }],
    misfit: [{ next: { next: { last: true } } }, { next: 1 }]
  },
  "words it does not know": { schema: { "x-order": 1, description: "a number", ...number }, fit: [1], misfit: ["a"] },
  "format says nothing": { schema: { format: "email" }, fit: ["no address", 1], misfit: [] },
  "names of Object.prototype": {
    schema: {
      properties: { toString: number, constructor: number },
      required: ["valueOf"],
      additionalProperties: false
    },
    fit: [],
    misfit: [{}, { toString: 1 }, { valueOf: 1 }]
  },
  "properties of Object.prototype": {
    schema: { properties: { toString: number, constructor: number } },
    fit: [{}, { toString: 1 }],
    misfit: [{ toString: "a" }]
  }
}

const broken: Readonly<Record<string, JsonSchemaValidator.JsonSchema>> = {
  "a type that is none": { type: "text" },
  "required by a word": { required: "a" },
  "properties in an array": { properties: [] },
  "a schema that is a number": { additionalProperties: 3 },
  "items of draft-07": { items: [{ type: "string" }] },
  "a dialect that is no string": { $schema: 7 },
  "a reference that is no string": { $ref: 7 },
  "an id that is no string": { $id: 7 }
}

const within = (depth: number, schema: JsonSchemaValidator.JsonSchema): JsonSchemaValidator.JsonSchema => {
  let outer = schema
  for (let level = 0; level < depth; level++) outer = { properties: { a: outer } }
  return outer
}

const items = (count: number): ReadonlyArray<number> => Array.from({ length: count }, (_, index) => index)

const names = (count: number): Readonly<Record<string, number>> =>
  Object.fromEntries(items(count).map((index) => [`k${index}`, index]))

const times = (count: number, schema: JsonSchemaValidator.JsonSchema) => Array.from({ length: count }, () => schema)

/**
 * A schema within ordinary limits, and a value that does not fit it. A naive check takes minutes or years.
 */
const hostile: Readonly<Record<string, readonly [JsonSchemaValidator.JsonSchema, unknown]>> = {
  "a pattern that backtracks": [{ pattern: "(a+)+$" }, `${"a".repeat(50_000)}b`],
  "a pattern that looks ahead": [{ pattern: "^(?=(a+)+$)" }, `${"a".repeat(50_000)}b`],
  "a pattern that starts anew at every character": [{ pattern: "a*b" }, "a".repeat(1_000_000)],
  "a pattern for names": [{ patternProperties: { "^(a|a)*$": true }, additionalProperties: false }, {
    [`${"a".repeat(50_000)}b`]: 1
  }],
  "names that have to match": [{ propertyNames: { pattern: "(a+)+$" } }, { [`${"a".repeat(50_000)}b`]: 1 }],
  "all of many, for many items": [
    { allOf: [...times(400, { items: { minimum: 0 } }), { maxItems: 1 }] },
    items(1_000_000)
  ],
  "many items, all of many": [
    { items: { allOf: [...times(400, { minimum: 0 }), { maximum: 999_998 }] } },
    items(1_000_000)
  ],
  "any of many": [{ items: { anyOf: times(400, { type: "string" }) } }, items(1_000_000)],
  "items that have to be contained": [{
    allOf: times(200, { contains: { $ref: "#/$defs/a" } }),
    $defs: { a: { minimum: 1_000_000 } }
  }, items(1_000_000)],
  "distinct items": [{ uniqueItems: true }, [...items(200_000).map((index) => ({ index })), { index: 0 }]],
  "distinct items in an order of their own": [
    { uniqueItems: true },
    [...items(500).map(() => ({ a: names(100) })), { a: {} }]
  ],
  "a long enum": [{ items: { enum: items(8_000) } }, [...items(500_000).map(() => 7_999), -1]],
  "an enum of objects": [{ enum: times(10_000, {}) }, names(100_000)],
  "many schemas for many names": [
    { allOf: times(200, { patternProperties: { "^k": { type: "number" } } }), maxProperties: 1 },
    names(100_000)
  ],
  "schemas that depend on names": [
    {
      dependentSchemas: Object.fromEntries(items(200).map((index) => [`k${index}`, { minProperties: 1 }])),
      maxProperties: 1
    },
    names(100_000)
  ],
  "what nothing else has looked at": [
    { allOf: times(200, { patternProperties: { "^k1": true } }), unevaluatedProperties: false },
    names(100_000)
  ],
  "references two to the hundredth times": [
    { properties: { a: { allOf: [{ $ref: "#" }, { $ref: "#" }] }, b: false } },
    items(100).reduce<object>((inner) => ({ a: inner }), { b: 1 })
  ],
  "references that fail": [
    { items: { anyOf: times(500, { $ref: "#/$defs/a" }) }, $defs: { a: { type: "string" } } },
    items(100_000)
  ],
  "anchors within anchors": [
    items(40).reduce<JsonSchemaValidator.JsonSchema>(
      (inner, index) => ({ $dynamicAnchor: `a${index}`, allOf: [inner] }),
      { type: "string" }
    ),
    1
  ],
  "a long name on every path": [
    { properties: { ["a".repeat(30_000)]: { allOf: times(1000, { type: "string" }) } } },
    { ["a".repeat(30_000)]: 1 }
  ]
}

const words = Schema.Literals(["a", "b", "__proto__", "constructor", "toString"])

/** Generates one level of a schema: some keywords, mostly with sensible values. */
const level = Arbitrary.schema(Schema.Struct({
  $anchor: Schema.optionalKey(words),
  $async: Schema.optionalKey(Schema.Boolean),
  $id: Schema.optionalKey(Schema.Literals(["a", "https://example.com/a", "#a", ":"])),
  $ref: Schema.optionalKey(Schema.Literals(["#", "#a", "#/properties/a", "#/allOf/0", "a"])),
  constructor: Schema.optionalKey(Schema.Json),
  enum: Schema.optionalKey(Schema.Array(Schema.Json)),
  minimum: Schema.optionalKey(Schema.Finite),
  nullable: Schema.optionalKey(Schema.Boolean),
  pattern: Schema.optionalKey(Schema.Literals(["a", "[\\w-.]", "("])),
  required: Schema.optionalKey(Schema.Array(words)),
  toString: Schema.optionalKey(Schema.Json),
  type: Schema.optionalKey(Schema.Literals(["object", "array", "string", "integer", "text"])),
  unevaluatedProperties: Schema.optionalKey(Schema.Boolean),
  uniqueItems: Schema.optionalKey(Schema.Json)
}))

const values = Arbitrary.schema(Schema.Union([Schema.Json, Schema.Record(words, Schema.Json)]))

/**
 * Tests a validator.
 *
 * @example
 * ```ts
 * import { AjvValidator } from "@effect-mcp/json-schema"
 * import { JsonSchemaValidatorSuite } from "@effect-mcp/testing/vitest"
 *
 * JsonSchemaValidatorSuite.suite("Ajv", AjvValidator.make)
 * ```
 *
 * @category suites
 */
export const suite = (name: string, make: () => JsonSchemaValidator.JsonSchemaValidatorShape): void => {
  const compiled = (schema: JsonSchemaValidator.JsonSchema): JsonSchemaValidator.Check =>
    Result.getOrThrow(make().compile(schema))

  const rejectionOf = (schema: JsonSchemaValidator.JsonSchema): UnsupportedSchemaError.UnsupportedSchemaErrorReason =>
    Result.getOrThrow(Result.flip(make().compile(schema))).reason

  describe(`laws of validators: ${name}`, () => {
    for (const [what, { fit, misfit, schema }] of Object.entries(rows)) {
      it(`[TOOL-08] [MSG-32] ${what}`, () => {
        for (const dialect of [undefined, "https://json-schema.org/draft/2020-12/schema"]) {
          const check = compiled(dialect === undefined ? schema : { $schema: dialect, ...schema })
          for (const value of fit) assert.isUndefined(check(value), JSON.stringify(value))
          for (const value of misfit) assert.isString(check(value), JSON.stringify(value))
        }
      })
    }

    it("[MSG-33] an unsupported dialect is named", () => {
      const dialect = "https://example.com/dialect"
      const reason = rejectionOf({ $schema: dialect, type: "object" })
      assert.strictEqual(reason._tag === "UnknownDialect" ? reason.dialect : reason._tag, dialect)
    })

    for (const [what, schema] of Object.entries(broken)) {
      it(`[MSG-33] a broken schema is rejected: ${what}`, () => {
        assert.strictEqual(rejectionOf(schema)._tag, "Rejected")
      })
    }

    it("[MSG-33] a broken pattern is rejected, and the check of the rest, if there is one, leaves only it out", () => {
      const schema = { properties: { a: { pattern: "(" }, b: { type: "string" } } }
      const { reason, rest } = Result.getOrThrow(Result.flip(make().compile(schema)))
      assert.include(["Rejected", "UnsupportedPattern"], reason._tag)
      if (rest === undefined) return
      assert.isUndefined(rest({ a: "(", b: "b" }))
      assert.isString(rest({ b: 1 }))
    })

    for (const $ref of ["https://example.com/schema", "other.json", "#/$defs/none", "file:///etc/hostname"]) {
      it(`[MSG-35] a reference to the outside is rejected: ${$ref}`, () => {
        assert.strictEqual(rejectionOf({ properties: { a: { $ref } } })._tag, "UnresolvedReference")
      })
    }

    it("a problem is one line, with the reason and the place", () => {
      const nested = { properties: { list: { items: { properties: { "a\nb": number } } } } }
      const problem = compiled(nested)({ list: [{}, { "a\nb": "1" }] })
      assert.include(problem, `["list"][1]["a\\nb"]`)
      const lines = [
        problem,
        compiled({ pattern: "a\nb" })("c"),
        compiled({ required: ["a\nb"] })({}),
        compiled({ additionalProperties: false })({ "a\nb": 1 })
      ]
      for (const line of lines) assert.match(line ?? "", /^[^\n]+$/)
    })

    it("schemas with the same $id are kept apart", () => {
      const validator = make()
      const [first, second] = [number, string].map((schema) =>
        Result.getOrThrow(
          validator.compile({ $id: "https://example.com/schema", $defs: { a: { $id: "a" } }, ...schema })
        )
      )
      assert.deepStrictEqual([first?.(1), second?.("a")], [undefined, undefined])
      assert.isString(first?.("a"))
      assert.isString(second?.(1))
      const outside = validator.compile({ $ref: "https://example.com/schema" })
      assert.isTrue(Result.isFailure(outside))
    })

    it("schema and value are unchanged, and a check uses the schema that was compiled", () => {
      const schema = { properties: { a: { default: 1, ...number } }, required: ["b"], additionalProperties: false }
      const value = { b: "2" }
      const before = JSON.stringify([schema, value])
      const check = compiled(schema)
      const problem = check(value)
      assert.strictEqual(JSON.stringify([schema, value]), before)
      schema.required.push("c")
      assert.isString(problem)
      assert.strictEqual(check(value), problem)
    })

    it("[MSG-35] a value that is too deep, or cyclic, leads to a reason or a problem", () => {
      const validator = make()
      const schemas = [
        within(100_000, {}),
        { $ref: "#" },
        { anyOf: [{ $ref: "#" }, { $ref: "#" }] },
        { $defs: { a: { $ref: "#/$defs/b" }, b: { $ref: "#/$defs/a" } }, $ref: "#/$defs/a" }
      ]
      for (const schema of schemas) {
        const check = validator.compile(schema)
        if (Result.isSuccess(check)) assert.isString(check.success({}))
      }
      const recursive = compiled({ properties: { a: { $ref: "#" } } })
      assert.include(["string", "undefined"], typeof recursive(within(100_000, {})))
    })

    for (const [what, [schema, value]] of Object.entries(hostile)) {
      it(`[MSG-35] a hostile schema is rejected, or its check is bounded and reports a problem: ${what}`, () => {
        const check = make().compile(schema)
        assert.isString(Result.isSuccess(check) ? check.success(value) : check.failure.message)
        // The bounds of the check are of its work, and not of a busy machine's time.
      }, 120_000)
    }

    it("a schema that contains itself is rejected", () => {
      const schema: Record<string, unknown> = {}
      schema["not"] = schema
      assert.strictEqual(rejectionOf(schema)._tag, "Rejected")
    })

    it.prop("it never throws", [level, level, Arbitrary.schema(words), values], ([
      outer,
      inner,
      word,
      value
    ]) => {
      const check = make().compile({ ...outer, properties: { [word]: inner }, allOf: [inner] })
      if (Result.isSuccess(check)) assert.include(["string", "undefined"], typeof check.success(value))
      return true
    })
  })
}

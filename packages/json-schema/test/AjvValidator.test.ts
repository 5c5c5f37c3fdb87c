import { AjvValidator } from "@effect-mcp/json-schema"
import type { JsonSchemaValidator } from "@effect-mcp/session"
import { JsonSchemaValidatorSuite } from "@effect-mcp/testing/vitest"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import { spawnSync } from "node:child_process"
import * as http from "node:http"
import * as v8 from "node:v8"
import { heapInUse } from "../../session/test/support/heapInUse.ts"

JsonSchemaValidatorSuite.suite("Ajv", AjvValidator.make)

const compile = (schema: JsonSchemaValidator.JsonSchema, options?: AjvValidator.Options) =>
  Result.getOrThrow(AjvValidator.make(options).compile(schema))

const rejectionOf = (schema: JsonSchemaValidator.JsonSchema, options?: AjvValidator.Options) =>
  Result.getOrThrow(Result.flip(AjvValidator.make(options).compile(schema))).reason

/** A web server that records the requested paths. */
const webServer = Effect.acquireRelease(
  Effect.callback<
    { readonly origin: string; readonly requested: Array<string | undefined>; readonly server: http.Server }
  >(
    (resume) => {
      const requested: Array<string | undefined> = []
      const server = http.createServer(({ url }, response) => {
        requested.push(url)
        response.end("{}")
      })
      server.listen(0, "127.0.0.1", () => {
        const address = server.address()
        const port = typeof address === "object" ? address?.port : undefined
        resume(Effect.succeed({ origin: `http://127.0.0.1:${port}`, requested, server }))
      })
    }
  ),
  ({ server }) => Effect.sync(() => server.close())
)
const ones = Array.from({ length: 1000 }, () => 1)
const table = Object.fromEntries(Array.from({ length: 1000 }, (_, index) => [`k${index}`, 1]))
const times = <A>(count: number, item: A): ReadonlyArray<A> => Array.from({ length: count }, () => item)

/** Schemas whose checks take hundreds of thousands of steps: each keyword multiplies the work of another one. */
const costly: Readonly<Record<string, readonly [JsonSchemaValidator.JsonSchema, unknown]>> = {
  "allOf x items": [{ allOf: times(100, { items: { type: "number" } }) }, ones],
  "items x allOf": [{ items: { allOf: times(100, { minimum: 0 }) } }, ones],
  "items x anyOf": [{ items: { anyOf: [...times(100, { type: "string" }), { type: "number" }] } }, ones],
  "items x oneOf": [{ items: { oneOf: [...times(100, { type: "string" }), { type: "number" }] } }, ones],
  "items x if": [{ items: { allOf: times(100, { if: { minimum: 2 }, else: { minimum: 0 } }) } }, ones],
  "allOf x contains": [{ allOf: times(100, { not: { contains: { type: "string" } } }) }, ones],
  "items x enum": [{ items: { allOf: times(100, { enum: [1] }) } }, ones],
  "allOf x uniqueItems": [{ allOf: times(100, { uniqueItems: true }) }, ones.map((_, index) => index)],
  "enum x properties": [{ allOf: times(100, { not: { const: { a: 1 } } }) }, table],
  "allOf x minProperties": [{ allOf: times(100, { minProperties: 1 }) }, table],
  "allOf x additionalProperties": [{ allOf: times(100, { additionalProperties: { type: "number" } }) }, table],
  "allOf x patternProperties": [{ allOf: times(100, { patternProperties: { "^k": { type: "number" } } }) }, table],
  "allOf x propertyNames": [{ allOf: times(100, { propertyNames: { minLength: 1 } }) }, table],
  "dependentSchemas": [{ allOf: times(100, { dependentSchemas: { k0: { minProperties: 1 } } }) }, table],
  "unevaluatedProperties": [
    { allOf: times(100, { patternProperties: { "^k": true } }), unevaluatedProperties: false },
    table
  ],
  "unevaluatedItems": [{ allOf: times(100, { prefixItems: [true], unevaluatedItems: { type: "number" } }) }, ones],
  "minLength": [{ allOf: times(100, { minLength: 1 }) }, "a".repeat(10_000)],
  "pattern": [{ pattern: "(a+)+$" }, `${"a".repeat(10_000)}b`],
  "patterns of names": [{ patternProperties: { "(a+)+$": { type: "number" } } }, { [`${"a".repeat(10_000)}b`]: 1 }],
  "names in paths": [
    { additionalProperties: { allOf: times(100, { $ref: "#/$defs/a" }) }, $defs: { a: { type: "number" } } },
    { ["a".repeat(100_000)]: 1 }
  ],
  "errors that are copied": [
    { items: { not: { anyOf: times(100, { $ref: "#/$defs/a" }) } }, $defs: { a: { type: "string" } } },
    ones
  ]
}

const anchored = (depth: number): JsonSchemaValidator.JsonSchema =>
  depth === 0 ? {} : { $dynamicAnchor: `a${depth}`, not: anchored(depth - 1) }

/** Schemas within the limit of characters that become tens of megabytes of code, or are compiled repeatedly. */
const large: Readonly<Record<string, JsonSchemaValidator.JsonSchema>> = {
  "anchors within anchors": anchored(40),
  "a condition with thousands of names": { dependentRequired: { a: ones.map((_, index) => `k${index}`) } },
  "names that are merged repeatedly": {
    allOf: ones.map((_, index) => ({ properties: { [`p${index}`]: true } })),
    unevaluatedProperties: false
  }
}

describe("AjvValidator", () => {
  it.live("[MSG-34] a server that a schema refers to gets no request, neither at compilation nor later", () =>
    Effect.scoped(Effect.gen(function*() {
      const { requested, origin } = yield* webServer
      const $ref = `${origin}/schema.json`
      for (const schema of [{ $ref }, { $schema: $ref }, { $id: $ref, properties: { a: { $ref: "other.json" } } }]) {
        assert.isTrue(Result.isFailure(AjvValidator.make().compile(schema)))
      }
      assert.isUndefined(compile({ $id: $ref, type: "object" })({}))
      // Whatever was sent before this request arrives before it.
      yield* Effect.promise(() => fetch(`${origin}/last`))
      assert.deepStrictEqual(requested, ["/last"])
    })))

  it("[MSG-35] uniqueItems takes linear time", () => {
    const compiled = AjvValidator.make().compile({ type: "array", uniqueItems: true })
    assert.isTrue(Result.isSuccess(compiled))
    if (Result.isFailure(compiled)) return
    const check = compiled.success
    // With a comparison of each pair, the test would time out.
    const many = Array.from({ length: 50_000 }, (_, index) => ({ index }))
    assert.isUndefined(check(many))
    assert.isString(check([...many, { index: 0 }]))
    for (
      const [distinct, items] of [
        [true, []],
        [true, [1, "1", [1], { 1: 1 }, null, "null", true]],
        [true, [{ a: 1 }, { a: 1, b: 2 }, { b: 1 }]],
        [true, [[1, 2], [2, 1]]],
        [true, [JSON.parse("{\"__proto__\":1}"), {}]],
        [false, [1, 1]],
        [false, [0, -0]],
        [false, [{ a: 1, b: { c: 2, d: [3] } }, { b: { d: [3], c: 2 }, a: 1 }]],
        [false, [[{ a: 1, b: 2 }], [{ b: 2, a: 1 }]]]
      ] as const
    ) {
      assert.strictEqual(check(items) === undefined, distinct, JSON.stringify(items))
    }
    assert.strictEqual(check([1, 1]), "must NOT have duplicate items")
    const either = AjvValidator.make().compile({ uniqueItems: false })
    assert.isTrue(Result.isSuccess(either) && either.success([1, 1]) === undefined)
  })

  for (
    const dialect of [
      "http://json-schema.org/draft-07/schema#",
      "https://json-schema.org/draft-07/schema",
      "https://json-schema.org/draft/2019-09/schema",
      "http://json-schema.org/draft-06/schema#",
      "http://json-schema.org/draft-04/schema#"
    ]
  ) {
    it(`[MSG-33] the validator supports the tuples of ${dialect}`, () => {
      const check = compile({ $schema: dialect, items: [{ type: "number" }], additionalItems: false })
      assert.isUndefined(check([1]))
      assert.strictEqual(check(["a"]), "must be number at [0]")
      assert.isString(check([1, 2]))
    })
  }

  it("[MSG-33] the error of an unknown dialect lists the supported ones", () => {
    assert.deepStrictEqual(rejectionOf({ $schema: "http://json-schema.org/draft-03/schema#" }), {
      _tag: "UnknownDialect",
      dialect: "http://json-schema.org/draft-03/schema#",
      supported: [
        "https://json-schema.org/draft/2020-12/schema",
        "https://json-schema.org/draft/2019-09/schema",
        "http://json-schema.org/draft-07/schema",
        "http://json-schema.org/draft-06/schema",
        "http://json-schema.org/draft-04/schema"
      ]
    })
  })

  const draft06 = "http://json-schema.org/draft-06/schema#"
  const draft04 = "http://json-schema.org/draft-04/schema#"
  const dialectCases: ReadonlyArray<
    readonly [name: string, schema: JsonSchemaValidator.JsonSchema, fit: unknown, misfit: unknown]
  > = [
    ["draft 06 has const and contains", { $schema: draft06, items: { const: 1 }, contains: { minimum: 1 } }, [1], []],
    ["draft 06 has numeric exclusive bounds", { $schema: draft06, exclusiveMinimum: 0 }, 1, 0],
    ["draft 06 ignores if", { $schema: draft06, if: true, then: false, type: "string" }, "a", 1],
    ["draft 06 has its metaschema", { $schema: draft06, items: { $ref: draft06 } }, [{ const: 1 }], [{ type: "a" }]],
    ["draft 04 has exclusive minima", { $schema: draft04, minimum: 0, exclusiveMinimum: true }, 0.1, 0],
    ["draft 04 has exclusive maxima", { $schema: draft04, maximum: 0, exclusiveMaximum: true }, -0.1, 0],
    ["draft 04 has minima", { $schema: draft04, minimum: 0, exclusiveMinimum: false }, 0, -1],
    ["draft 04 has maxima", { $schema: draft04, maximum: 0 }, 0, 1],
    [
      "draft 04 ignores newer keywords",
      { $schema: draft04, const: 1, contains: false, propertyNames: false, if: true, then: false, type: "object" },
      { a: 1 },
      []
    ],
    [
      "draft 04 refers to ids",
      {
        $schema: draft04,
        id: "https://example.com/root",
        definitions: { a: { id: "a", type: "number" } },
        properties: { id: { $ref: "a" }, b: { $ref: "https://example.com/a" } }
      },
      { id: 1, b: 1 },
      { id: 1, b: "a" }
    ],
    ["draft 04 has its metaschema", { $schema: draft04, items: { $ref: draft04 } }, [{ id: "a" }], [{ id: 1 }]],
    ["id is ignored in newer drafts", { id: "a", properties: { id: { type: "string" } } }, { id: "a" }, { id: 1 }]
  ]
  for (const [name, schema, fit, misfit] of dialectCases) {
    it(`[MSG-33] ${name}`, () => {
      assert.isUndefined(compile(schema)(fit))
      assert.isString(compile(schema)(misfit))
    })
  }

  it("the ids in examples of OpenAPI are not ids of schemas", () => {
    const member = (b: number) => ({ type: "number", example: { id: "a", b } })
    assert.isUndefined(compile({ $schema: draft04, properties: { a: member(1), b: member(2) } })({ a: 1, b: 2 }))
  })

  it("[MSG-33] exclusive bounds of another draft are rejected, and so are broken schemas of older drafts", () => {
    for (
      const schema of [
        { $schema: draft04, exclusiveMinimum: 1 },
        { $schema: draft04, type: "text" },
        { $schema: draft04, id: 7 },
        { $schema: draft06, exclusiveMinimum: true },
        { minimum: 0, exclusiveMinimum: true }
      ]
    ) {
      assert.strictEqual(rejectionOf(schema)._tag, "Rejected", JSON.stringify(schema))
    }
  })

  it("the problem of an exclusive bound of draft 04 names the bound", () => {
    assert.strictEqual(compile({ $schema: draft04, minimum: 0, exclusiveMinimum: true })(0), "must be > 0")
    assert.strictEqual(compile({ $schema: draft04, maximum: 5 })(6), "must be <= 5")
  })

  const nullableCases: ReadonlyArray<
    readonly [name: string, schema: JsonSchemaValidator.JsonSchema, fit: unknown, misfit: unknown]
  > = [
    ["is ignored beside anyOf", { nullable: true, anyOf: [{ type: "string" }] }, "a", null],
    ["allows null beside a type", { nullable: true, type: "string" }, null, 1],
    ["allows nothing if it is false", { nullable: false, type: "string" }, "a", null],
    ["is ignored beside the type null if it is false", { nullable: false, type: ["string", "null"] }, null, 1],
    [
      "is ignored in a definition",
      { $defs: { a: { nullable: true, not: { type: "null" } } }, $ref: "#/$defs/a" },
      0,
      null
    ],
    [
      "is ignored in the target of a reference to an unknown keyword",
      {
        components: { schemas: { nullable: { nullable: true, anyOf: [{ type: "number" }] } } },
        $ref: "#/components/schemas/nullable"
      },
      1,
      null
    ],
    ["is data in const", { const: { nullable: true } }, { nullable: true }, {}],
    ["is data in enum", { enum: [{ a: { nullable: false } }] }, { a: { nullable: false } }, { a: {} }],
    ["is a name in properties", { properties: { nullable: false } }, {}, { nullable: 1 }],
    ["is a name in dependencies", { dependentSchemas: { nullable: false } }, {}, { nullable: 1 }]
  ]
  for (const [name, schema, fit, misfit] of nullableCases) {
    it(`nullable ${name}`, () => {
      assert.isUndefined(compile(schema)(fit))
      assert.isString(compile(schema)(misfit))
    })
  }

  it("a schema can refer to the metaschema", () => {
    const check = compile({ properties: { schema: { $ref: "https://json-schema.org/draft/2020-12/schema" } } })
    assert.isUndefined(check({ schema: { type: "string" } }))
    assert.isString(check({ schema: { type: "text" } }))
  })

  it("[MSG-35] a schema of more than maxSchemaCharacters is rejected", () => {
    const schema = { description: "x".repeat(100) }
    const characters = JSON.stringify(schema).length
    assert.isUndefined(compile(schema, { maxSchemaCharacters: characters })({}))
    assert.deepStrictEqual(rejectionOf(schema, { maxSchemaCharacters: characters - 1 }), {
      _tag: "TooLarge",
      characters,
      limit: characters - 1
    })
  })

  for (
    const [reference, root] of [
      [{ $ref: "#" }, {}],
      [{ $dynamicRef: "#here" }, { $dynamicAnchor: "here" }],
      [{ $recursiveRef: "#" }, { $schema: "https://json-schema.org/draft/2019-09/schema", $recursiveAnchor: true }]
    ] as const
  ) {
    it(`[MSG-35] a check that would follow 2^100 references fails: ${JSON.stringify(reference)}`, () => {
      const check = compile({ ...root, type: "object", properties: { a: { allOf: [reference, reference] } } })
      const nested = (depth: number): object => depth === 0 ? {} : { a: nested(depth - 1) }
      assert.isUndefined(check(nested(10)))
      assert.strictEqual(check(nested(100)), "the check needs more than 20000000 steps; set maxSteps to allow more")
    })
  }

  it("a check that ran out of steps does not affect the budget of the next one", () => {
    const check = compile({ items: { $ref: "#/$defs/a" }, $defs: { a: { type: "number" } } }, { maxSteps: 200 })
    assert.isUndefined(check([1, 2, 3]))
    assert.strictEqual(
      check(Array.from({ length: 100 }, () => 1)),
      "the check needs more than 200 steps; set maxSteps to allow more"
    )
    assert.isUndefined(check([1, 2, 3]))
  })

  for (const [what, [schema, value]] of Object.entries(costly)) {
    it(`[MSG-35] each visit counts as a step: ${what}`, () => {
      // The check needs more steps than maxSteps, so it fails before it takes long.
      assert.strictEqual(
        compile(schema, { maxSteps: 50_000 })(value),
        "the check needs more than 50000 steps; set maxSteps to allow more"
      )
    })
  }

  it("[MSG-35] a large result fits an ordinary schema within the default steps", () => {
    const row = {
      type: "object",
      properties: {
        id: { type: "integer", minimum: 0 },
        date: { type: "string", pattern: "^\\d{4}-\\d{2}-\\d{2}$" },
        tags: { type: "array", items: { enum: ["a", "b", "c"] }, uniqueItems: true }
      },
      required: ["id", "date"],
      additionalProperties: false
    }
    const rows = Array.from({ length: 40_000 }, (_, id) => ({ id, date: "2026-01-31", tags: ["a", "b", "c"] }))
    assert.isUndefined(compile({ properties: { rows: { items: row } } })({ rows }))
  })

  for (const [what, schema] of Object.entries(large)) {
    it(`[MSG-35] a schema whose compilation needs too many steps is rejected: ${what}`, () => {
      assert.deepStrictEqual(rejectionOf(schema), {
        _tag: "Rejected",
        problem: "compiling it needs more than 10000000 steps"
      })
    })
  }

  it("[MSG-35] a loop that continues after a misfit does not retain its errors", () => {
    const many = Array.from({ length: 100_000 }, (_, index) => index)
    const check = compile({ contains: { anyOf: [{ type: "string" }, { minimum: 100_000 }] } })
    check(many)
    const before = heapInUse()
    assert.strictEqual(check(many), "must contain at least 1 valid item(s)")
    // Each error takes about 100 bytes, and each item has three.
    assert.isBelow(heapInUse() - before, 1_000_000)
  })

  it("no value matches an enum without values", () => {
    assert.strictEqual(compile({ enum: [] })(1), "must be equal to one of the allowed values")
  })

  for (
    const [schema, fit, misfit] of [
      [{ enum: [1, "1", null, { a: [1, { b: 2, c: 3 }] }] }, { a: [1, { c: 3, b: 2 }] }, { a: [1, { c: 3 }] }],
      [{ enum: [1, "a"] }, 1, "1"],
      [{ enum: ["[1]"] }, "[1]", [1]],
      [{ const: 0 }, -0, "0"],
      [{ const: JSON.parse("{\"__proto__\":1}") }, JSON.parse("{\"__proto__\":1}"), {}]
    ] as const
  ) {
    it(`enum and const compare values deeply: ${JSON.stringify(schema)}`, () => {
      assert.isUndefined(compile(schema)(fit))
      assert.isString(compile(schema)(misfit))
    })
  }

  it("[MSG-35] a pattern that needs more than linear time is rejected, and the error contains it", () => {
    assert.deepStrictEqual(rejectionOf({ properties: { a: { pattern: "^(a*)\\1$" } } }), {
      _tag: "UnsupportedPattern",
      pattern: "^(a*)\\1$",
      problem: "a backreference"
    })
    const named = Result.getOrThrow(
      Result.flip(AjvValidator.make().compile({ patternProperties: { "(b)\\1": { type: "number" } } }))
    )
    assert.strictEqual(
      named.message,
      "unsupported schema: the pattern \"(b)\\\\1\" has a backreference, which is not supported"
    )
  })

  it("[MSG-33] a pattern of another language is rejected, and the error has the check of the rest", () => {
    const { reason, rest } = Result.getOrThrow(Result.flip(
      AjvValidator.make().compile({
        required: ["b"],
        properties: { a: { type: "string", pattern: "(?i)^abc$", minLength: 2 }, b: { pattern: "^b$" } }
      })
    ))
    assert.deepStrictEqual(reason, {
      _tag: "UnsupportedPattern",
      pattern: "(?i)^abc$",
      problem: "a syntax that is not that of ECMA-262"
    })
    assert.isUndefined(rest?.({ a: "ABC", b: "b" }))
    assert.strictEqual(rest?.({ a: 1, b: "b" }), `must be string at ["a"]`)
    assert.strictEqual(rest?.({ a: "A", b: "b" }), `must NOT have fewer than 2 characters at ["a"]`)
    assert.strictEqual(rest?.({ a: "ABC", b: "c" }), `must match pattern "^b$" at ["b"]`)
    assert.strictEqual(rest?.({ a: "ABC" }), "must have required property 'b'")
  })

  const pattern = "(?i)^abc$"
  const restCases: Readonly<
    Record<string, readonly [JsonSchemaValidator.JsonSchema, fit: unknown, misfit?: unknown]>
  > = {
    "not": [{ type: "string", not: { pattern } }, "x", 1],
    "not with a reference": [{ type: "string", $defs: { a: { pattern } }, not: { $ref: "#/$defs/a" } }, "x", 1],
    "another not": [{ pattern, not: { type: "number" } }, "x", 1],
    "if": [{ type: "string", if: { pattern }, then: { maxLength: 3 } }, "long", 1],
    "then": [{ if: { type: "string" }, then: { pattern }, else: { minimum: 0 } }, "x", -1],
    "oneOf": [{ type: "string", oneOf: [{ pattern }, { minLength: 2 }] }, "xyz", 1],
    "another oneOf": [{ pattern, oneOf: [{ type: "string" }, { type: "number" }] }, "x", true],
    "anyOf": [{ anyOf: [{ type: "string", pattern }, { type: "number" }] }, "x", true],
    "contains": [{ contains: { type: "string", pattern } }, ["x"], [1]],
    "maxContains": [{ type: "array", contains: { type: "string", pattern }, maxContains: 1 }, ["abc", "x"], 1],
    "patternProperties": [
      { type: "object", patternProperties: { [pattern]: { type: "number" } }, additionalProperties: false },
      { ABC: 1, a: 2 },
      1
    ],
    "propertyNames": [{ propertyNames: { pattern, minLength: 2 } }, { xy: 1 }, { x: 1 }],
    "unevaluatedProperties": [
      {
        type: "object",
        anyOf: [{ if: { properties: { a: { pattern } } }, then: { maxProperties: 1 } }],
        unevaluatedProperties: false
      },
      { a: "abc" },
      1
    ],
    "a schema that refers to itself": [
      { properties: { a: { $ref: "#" }, b: { pattern }, c: { type: "number" } } },
      { a: { b: "x" } },
      { a: { c: "x" } }
    ],
    "a property of this name": [{ properties: { pattern: { type: "number" }, a: { pattern } } }, { pattern: 1 }, {
      pattern: "(?i)^abc$"
    }]
  }
  for (const [what, [schema, fit, misfit]] of Object.entries(restCases)) {
    it(`the check of the rest rejects no value that the schema may accept: ${what}`, () => {
      const { rest } = Result.getOrThrow(Result.flip(AjvValidator.make().compile(schema)))
      assert.isUndefined(rest?.(fit))
      assert.isString(rest?.(misfit))
    })
  }

  it("[MSG-35] a schema that is unusable for another reason has no check of the rest", () => {
    const unusable = [
      { pattern, items: { $ref: "#/$defs/none" } },
      { pattern, items: { $ref: "https://example.com/schema" } },
      { pattern, type: "text" },
      { pattern, description: "a".repeat(70_000) },
      { pattern, ...large["anchors within anchors"] }
    ]
    for (const schema of unusable) {
      const { reason, rest } = Result.getOrThrow(Result.flip(AjvValidator.make().compile(schema)))
      assert.isUndefined(rest)
      assert.notStrictEqual(reason._tag, "UnsupportedPattern")
    }
  })

  it("[MSG-35] the check of the rest counts its steps", () => {
    const { rest } = Result.getOrThrow(Result.flip(
      AjvValidator.make({ maxSteps: 50_000 }).compile({ pattern, allOf: times(100, { items: { type: "number" } }) })
    ))
    assert.strictEqual(rest?.(ones), "the check needs more than 50000 steps; set maxSteps to allow more")
  })

  it("a schema with $async, which would accept every value, is rejected", () => {
    assert.deepStrictEqual(rejectionOf({ $async: true, type: "number" }), {
      _tag: "Rejected",
      problem: "$async is not supported"
    })
  })

  it("patterns that JavaScript allows only without the flag `u` are supported", () => {
    const check = compile({ pattern: "^[\\w-.]+$" })
    assert.isUndefined(check("a-b.c"))
    assert.isString(check("a b"))
  })

  it("the option regExp replaces the engine of regular expressions", () => {
    const regExp = (pattern: string) => ({ test: (text: string) => text.includes(pattern) })
    const check = compile({
      properties: { a: { pattern: "(a" }, b: { pattern: "(b" } },
      patternProperties: { "(c": false }
    }, {
      regExp
    })
    assert.isUndefined(check({ a: "(a", b: "(b" }))
    assert.strictEqual(check({ a: "(b" }), `must match pattern "(a" at ["a"]`)
    assert.strictEqual(check({ b: "(a" }), `must match pattern "(b" at ["b"]`)
    assert.isString(check({ "(c": 1 }))
  })

  it("errors name the additional property, and the failure within a branch", () => {
    const strict = compile({ properties: { "a/b~c": { additionalProperties: false } } })
    assert.strictEqual(strict({ "a/b~c": { d: 1 } }), `must NOT have additional properties at ["a/b~c"]["d"]`)
    const branch = compile({ if: true, then: { required: ["a"] } })
    assert.strictEqual(branch({}), "must have required property 'a'")
    assert.strictEqual(compile({ anyOf: [{ type: "string" }, { type: "null" }] })(1), "must match a schema in anyOf")
  })

  it("the validator caches the most recently used checks", () => {
    const validator = AjvValidator.make({ maxChecks: 2 })
    const check = (title: string) => Result.getOrThrow(validator.compile({ title }))
    const [first, second] = [check("a"), check("b")]
    assert.strictEqual(check("a"), first)
    check("c")
    assert.strictEqual(check("a"), first)
    assert.notStrictEqual(check("b"), second)
  })

  it("the validator caches rejections", () => {
    const validator = AjvValidator.make()
    const rejection = () => Result.getOrThrow(Result.flip(validator.compile({ type: "text" })))
    assert.strictEqual(rejection(), rejection())
  })

  it("[MSG-35] a server that lists a new schema each time does not increase the memory", () => {
    // Otherwise V8 keeps the code of functions for some time, in case the same text is compiled again.
    v8.setFlagsFromString("--no-compilation-cache")
    const validator = AjvValidator.make({ maxChecks: 4 })
    let made = 0
    const compileMore = (count: number): number => {
      for (let index = 0; index < count; index++) {
        const $id = `https://example.com/${made++}`
        const names = Array.from({ length: 20 }, (_, name) => `property ${made} ${name}`)
        const properties = Object.fromEntries(names.map((name) => [name, { type: "string", minLength: 1 }]))
        const schema = { $id, properties, $defs: { a: { $id: `${$id}/a` } }, required: names }
        assert.isString(Result.getOrThrow(validator.compile(schema))({}))
      }
      return heapInUse()
    }
    const before = compileMore(25)
    const grown = compileMore(125) - before
    // The code of each schema takes about 50,000 bytes.
    assert.isBelow(grown / 125, 5_000)
  })

  it("[MSG-35] a schema that is referred to many times is compiled once", () => {
    const many = <A>(each: (index: number) => A) =>
      Array.from({ length: 150 }, (_, index) => [`p${index}`, each(index)])
    const shared = { properties: Object.fromEntries(many(() => ({ type: "string" }))) }
    const properties = Object.fromEntries(many(() => ({ $ref: "#/$defs/shared" })))
    const before = heapInUse()
    const check = compile({ properties, $defs: { shared } })
    // With a copy for each reference, the code would have ten million characters.
    assert.isBelow(heapInUse() - before, 3_000_000)
    assert.strictEqual(check({ p149: { p149: 1 } }), `must be string at ["p149"]["p149"]`)
  })

  it("every schema is rejected with the reason if the process forbids code generation", () => {
    const script = `
      import { AjvValidator } from "@effect-mcp/json-schema"
      const { failure } = AjvValidator.make().compile({ type: "object" })
      console.log(failure.message)
    `
    const { stderr, stdout } = spawnSync(
      process.execPath,
      ["--disallow-code-generation-from-strings", "--input-type=module", "--eval", script],
      { cwd: import.meta.dirname, encoding: "utf8" }
    )
    assert.match(stdout, /^unsupported schema: Code generation from strings disallowed/, stderr)
  })
})

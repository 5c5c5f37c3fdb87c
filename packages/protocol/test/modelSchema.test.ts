import { ModelSchema, type Tool } from "@effect-mcp/protocol"
import { assert, describe, it } from "@effect/vitest"
import { Ajv2020 } from "ajv/dist/2020.js"
import * as Result from "effect/Result"

const ajv = new Ajv2020({ strict: false, validateFormats: false })

/** Returns the schema for a model, which draft 2020-12 accepts, without a rejected keyword at its root. */
const schemaOf = (keywords: object): Tool.ObjectSchema => {
  const { schema } = Result.getOrThrow(ModelSchema.of({ type: "object", ...keywords }))
  assert.isTrue(ajv.validateSchema(schema), JSON.stringify([schema, ajv.errors]))
  assert.isDefined(ajv.compile(schema))
  for (const keyword of ["$ref", "allOf", "anyOf", "oneOf", "not", "enum", "const", "if", "$schema"]) {
    assert.notProperty(schema, keyword)
  }
  assert.isObject(schema["properties"])
  return schema
}

const string = { type: "string" }

/** Returns the schema of a property that only some of the alternatives have. */
const sometimes = (schema: object) => ({ anyOf: [schema, {}] })

/** Returns a list that is nested this deeply. */
const nested = (levels: number): unknown => JSON.parse(`${"[".repeat(levels)}${"]".repeat(levels)}`)

describe("the root", () => {
  it("has properties", () => {
    assert.deepStrictEqual(schemaOf({}), { type: "object", properties: {} })
    assert.deepStrictEqual(schemaOf({ additionalProperties: false }), {
      type: "object",
      properties: {},
      additionalProperties: false
    })
    assert.deepStrictEqual(schemaOf({ required: ["a"] }), { type: "object", properties: { a: {} }, required: ["a"] })
  })

  it("has the properties of all alternatives, and requires what all of them require", () => {
    const branch = (kind: string, name: string) => ({
      type: "object",
      properties: { kind: { const: kind }, [name]: string },
      required: ["kind", name]
    })
    assert.deepStrictEqual(schemaOf({ anyOf: [branch("file", "path"), branch("page", "url"), { type: "null" }] }), {
      type: "object",
      description: "Give one of these sets of arguments: (kind, path), (kind, url).",
      properties: {
        kind: { anyOf: [{ const: "file" }, { const: "page" }] },
        path: sometimes(string),
        url: sometimes(string)
      },
      required: ["kind"]
    })
    const closed = { additionalProperties: false }
    assert.deepStrictEqual(
      schemaOf({ anyOf: [{ ...branch("a", "b"), ...closed }, { ...branch("a", "c"), ...closed }] })["properties"],
      { kind: { const: "a" }, b: string, c: string }
    )
    assert.deepStrictEqual(
      schemaOf({
        description: "Reads.",
        properties: { a: string, b: string },
        required: ["b"],
        anyOf: [{ required: ["a"] }, { properties: { a: { type: "integer" } }, additionalProperties: false }]
      }),
      {
        type: "object",
        description: "Reads.",
        properties: { a: string, b: string },
        required: ["b"]
      }
    )
  })

  it("has the properties of all members that apply at once, and requires what one of them requires", () => {
    assert.deepStrictEqual(
      schemaOf({
        allOf: [
          { properties: { a: string }, required: ["a"] },
          { $ref: "#/$defs/B" },
          { if: { required: ["a"] }, then: { properties: { c: string }, required: ["c"] } }
        ],
        $defs: { B: { properties: { b: { $ref: "#/$defs/S" } }, required: ["b"] }, S: string, Unused: string }
      }),
      {
        type: "object",
        properties: { a: string, b: { $ref: "#/$defs/S" }, c: sometimes(string) },
        required: ["a", "b"],
        $defs: { S: string }
      }
    )
  })

  it("is the definition that it refers to, also if that is the root", () => {
    const R: Tool.ObjectSchema = { type: "object", properties: { a: string } }
    assert.deepStrictEqual(schemaOf({ $ref: "#/$defs/R", $defs: { R } }), R)
    assert.deepStrictEqual(schemaOf({ $ref: "#", properties: { a: string } }), R)
    assert.deepStrictEqual(
      schemaOf({ $ref: "#/$defs/A", $defs: { A: { anyOf: [{ $ref: "#/$defs/A" }, R] } } })["properties"],
      { a: sometimes(string) }
    )
  })

  it("has no argument of the definitions after 64 references", () => {
    const chain = (length: number) => {
      const definitions = Array.from({ length }, (_, at) => [`${at}`, { allOf: [{ $ref: `#/$defs/${at + 1}` }] }])
      return {
        $ref: "#/$defs/0",
        $defs: { ...Object.fromEntries(definitions), [length]: { properties: { a: string } } }
      }
    }
    assert.deepStrictEqual(schemaOf(chain(63))["properties"], { a: string })
    // More would end the stack; found by a schema of 47 kB.
    for (const length of [64, 1_500]) {
      assert.deepStrictEqual(schemaOf(chain(length)), { type: "object", properties: {} })
    }
  })

  it("has the properties of conditional parts, whose schemas bind only sometimes", () => {
    const parts = { if: { required: ["a"] }, then: { properties: { b: string } } }
    const otherwise = { else: { properties: { b: { type: "number" } } } }
    assert.deepStrictEqual(schemaOf(parts)["properties"], { b: sometimes(string) })
    assert.deepStrictEqual(schemaOf({ ...parts, ...otherwise })["properties"], {
      b: { anyOf: [string, { type: "number" }] }
    })
    assert.deepStrictEqual(schemaOf({ dependentSchemas: { a: parts.then } })["properties"], { b: sometimes(string) })
    assert.deepStrictEqual(schemaOf({ ...parts, properties: { b: {} } })["properties"], { b: {} })
  })

  it("stays an object if the schema accepts none", () => {
    assert.deepStrictEqual(schemaOf({ anyOf: [string], properties: { a: string } })["properties"], { a: string })
    assert.deepStrictEqual(schemaOf({ not: {}, enum: [1], const: 1 })["properties"], {})
  })

  it("lists alternatives up to a length", () => {
    const anyOf = Array.from({ length: 1_000 }, (_, index) => ({ required: [`${index}${"a".repeat(20)}`] }))
    const description = String(schemaOf({ anyOf })["description"])
    assert.strictEqual(description.length, 2_048)
    assert.isTrue(description.startsWith("Give one of these sets of arguments: (0aaaaaaaaaaaaaaaaaaaa), (1aa"))
    assert.notProperty(schemaOf({ anyOf: [{ required: ["a"] }, {}] }), "description")
  })

  it("of many definitions that each use the next one twice is made in one step for each", () => {
    const names = Array.from({ length: 60 }, (_, index) => `D${index}`)
    const $defs = Object.fromEntries(names.map((name, index) => {
      const next = { $ref: `#/$defs/D${index + 1}` }
      return [name, index === 59 ? { properties: { a: string } } : { anyOf: [next, next], allOf: [next, next] }]
    }))
    assert.deepStrictEqual(schemaOf({ $ref: "#/$defs/D0", $defs })["properties"], { a: string })
  })
})

describe("a keyword", () => {
  const property = (schema: unknown) => Object(schemaOf({ properties: { a: schema } })["properties"])["a"]

  it("with a value that it cannot have is left out", () => {
    const wrong = {
      type: "any",
      required: true,
      enum: [],
      anyOf: [],
      oneOf: "x",
      minimum: "1",
      maximum: Number.POSITIVE_INFINITY,
      minLength: -1,
      multipleOf: 0,
      pattern: "(",
      properties: [],
      examples: 1,
      description: 1,
      $ref: 7,
      nullable: true,
      "x-order": 1,
      $schema: "http://json-schema.org/draft-07/schema#",
      $id: "https://example.com/",
      $comment: "a",
      $anchor: "a"
    }
    assert.deepStrictEqual(property(wrong), {})
    assert.deepStrictEqual(property({ type: ["string", "str", "null", "string"] }), { type: ["string", "null"] })
    assert.deepStrictEqual(property({ type: ["string"], enum: ["a", "a"] }), { type: "string", enum: ["a"] })
    assert.deepStrictEqual(property(true), {})
    assert.deepStrictEqual(property(false), { not: {} })
    assert.deepStrictEqual(schemaOf({ properties: "x", required: "a" }), { type: "object", properties: {} })
  })

  it("of an older draft is converted", () => {
    assert.deepStrictEqual(property({ type: "integer", minimum: 3, exclusiveMinimum: true }), {
      type: "integer",
      minimum: 3,
      exclusiveMinimum: 3
    })
    assert.deepStrictEqual(property({ type: "array", items: [string, true], additionalItems: false }), {
      type: "array",
      prefixItems: [string, {}],
      items: false
    })
    assert.deepStrictEqual(property({ dependencies: { a: ["b"], c: { required: ["d"] } } }), {
      dependentRequired: { a: ["b"] },
      anyOf: [{ required: ["d"] }, {}]
    })
    assert.deepStrictEqual(property({ type: "string", nullable: true }), { type: ["string", "null"] })
  })

  it("beside a reference is left out in drafts 03 to 07, which ignore it", () => {
    const beside = (keywords: object) =>
      schemaOf({
        ...keywords,
        properties: { a: { $ref: "#/definitions/S", description: "b", maxLength: 1, properties: { $ref: string } } },
        definitions: { S: string }
      })["properties"]
    const reference = { $ref: "#/$defs/S" }
    for (const draft of ["draft-03", "draft-04", "draft-06", "draft-07"]) {
      for (const $schema of [`http://json-schema.org/${draft}/schema#`, `https://json-schema.org/${draft}/schema`]) {
        assert.deepStrictEqual(beside({ $schema }), { a: { ...reference, description: "b" } })
      }
    }
    const all = { a: { ...reference, description: "b", maxLength: 1, properties: { $ref: string } } }
    for (const $schema of [undefined, 7, "https://json-schema.org/draft/2020-12/schema"]) {
      assert.deepStrictEqual(beside({ $schema }), all)
    }
    // The member `$ref` of properties is an argument.
    assert.deepStrictEqual(
      schemaOf({
        $schema: "http://json-schema.org/draft-07/schema#",
        properties: { $ref: string, a: string }
      })["properties"],
      { _ref: string, a: string }
    )
  })

  it("in which a part that accepts more makes the whole accept less is left out or converted", () => {
    const foreign = { $ref: "https://example.com/" }
    assert.deepStrictEqual(property({ not: foreign, unevaluatedProperties: false, unevaluatedItems: false }), {})
    assert.deepStrictEqual(property({ oneOf: [string, foreign] }), { anyOf: [string, {}] })
    assert.deepStrictEqual(property({ anyOf: [string], oneOf: [foreign] }), {
      anyOf: [string],
      allOf: [{ anyOf: [{}] }]
    })
    assert.deepStrictEqual(property({ contains: foreign, maxContains: 1, minContains: 2 }), {
      contains: {},
      minContains: 2
    })
    assert.deepStrictEqual(property({ patternProperties: { "(?i)a": {}, b: {} }, additionalProperties: false }), {
      patternProperties: { b: {} }
    })
  })

  it("items is there for each array", () => {
    assert.deepStrictEqual(property({ type: ["array", "null"] }), { type: ["array", "null"], items: {} })
    assert.deepStrictEqual(property({ type: "array", items: true }), { type: "array", items: {} })
  })

  it("that refers to a place leads to a definition of it", () => {
    assert.deepStrictEqual(
      schemaOf({
        properties: { h: string, l: { $ref: "#/properties/h" }, m: { $ref: "#/definitions/a~1b%20c" } },
        definitions: { "a/b c": { items: { $ref: "#/definitions/a~1b%20c" } } }
      }),
      {
        type: "object",
        properties: { h: string, l: { $ref: "#/$defs/Part" }, m: { $ref: "#/$defs/a_b_c" } },
        $defs: { Part: string, a_b_c: { items: { $ref: "#/$defs/a_b_c" } } }
      }
    )
    const root = "https://example.com/a"
    assert.deepStrictEqual(
      schemaOf({ $id: root, properties: { a: { $ref: `${root}#/$defs/S` } }, $defs: { S: string } })["$defs"],
      { S: string }
    )
  })

  it("that refers to nothing, to another document or only to itself is left out", () => {
    const $ref = (to: string) => property({ $ref: to, description: "a" })
    for (const to of ["#/$defs/None", "https://example.com/schema", "#anchor", "file:///etc/passwd", "#/%zz"]) {
      assert.deepStrictEqual($ref(to), { description: "a" })
    }
    const loop = { A: { $ref: "#/$defs/B" }, B: { $ref: "#/$defs/A" } }
    assert.notInclude(
      JSON.stringify(schemaOf({ properties: { a: { $ref: "#/$defs/A" } }, $defs: loop })["$defs"]),
      "$ref"
    )
  })

  it("has no half surrogate pairs", () => {
    const half = "\ud83d"
    const text = JSON.stringify(schemaOf({
      description: half,
      properties: { a: { enum: [half], default: { [half]: half }, pattern: half }, [half]: { required: [half] } }
    }))
    assert.notInclude(text, "\\ud83d")
    assert.include(JSON.stringify(schemaOf({ description: "😀" })), "😀")
  })
})

describe("the name of an argument", () => {
  it("that a provider rejects is replaced, and the original one is known", () => {
    const given = ["filter[id]", "filter_id_", "$top", "a".repeat(70), "日本", "ok.name-1", ""]
    const { names, schema } = Result.getOrThrow(ModelSchema.of({
      type: "object",
      properties: Object.fromEntries(given.map((name) => [name, string])),
      required: ["filter[id]", "ok.name-1"],
      dependentRequired: { $top: ["filter[id]"] }
    }))
    const properties = Object.keys(Object(schema["properties"]))
    for (const name of properties) assert.match(name, /^[a-zA-Z0-9_.-]{1,64}$/)
    assert.deepStrictEqual(properties.map((name) => names.get(name) ?? name), given)
    assert.deepStrictEqual(schema["required"], ["filter_id__2", "ok.name-1"])
    assert.deepStrictEqual(schema["dependentRequired"], { _top: ["filter_id__2"] })
  })

  it("is replaced in one step for each, however many names are alike", () => {
    const properties = Object.fromEntries(
      Array.from({ length: 7_000 }, (_, at) => [String.fromCodePoint(0x4e00 + at), 0])
    )
    const started = process.cpuUsage()
    assert.isTrue(Result.isSuccess(ModelSchema.of({ type: "object", properties })))
    // With a search for each name it takes some seconds.
    assert.isBelow(process.cpuUsage(started).user, 2_000_000)
  })

  it("may be __proto__", () => {
    const schema = schemaOf({ properties: JSON.parse(`{"__proto__":{"type":"string"}}`) })
    assert.deepStrictEqual(Object.keys(Object(schema["properties"])), ["__proto__"])
  })
})

describe("a schema", () => {
  const problem = (keywords: object) => Result.getOrThrow(Result.flip(ModelSchema.of({ type: "object", ...keywords })))

  it("that is too deep or too large is rejected", () => {
    assert.strictEqual(problem({ default: nested(50_000) }), "its input schema has more than 64 levels")
    assert.strictEqual(problem({ default: nested(64) }), "its input schema has more than 64 levels")
    assert.isDefined(schemaOf({ default: nested(63) }))
    assert.strictEqual(
      problem({ description: "a".repeat(65_536) }),
      "its input schema has more than 65536 characters"
    )
    assert.strictEqual(
      problem({ enum: Array.from({ length: 70_000 }, () => 1) }),
      "its input schema has more than 65536 values"
    )
    // Keywords that are left out do not count.
    assert.isDefined(schemaOf({ "x-deep": nested(50_000), "x-long": "a".repeat(100_000) }))
  })

  it("whose alternatives have many names is rejected before these are copied", () => {
    const names = Array.from({ length: 3_000 }, (_, at) => `q${at.toString(36)}`)
    const ofNames = (value: unknown) => Object.fromEntries(names.map((name) => [name, value]))
    const reference = { allOf: [{ $ref: "#/$defs/A" }] }
    const alternatives = Array.from({ length: 850 }, () => reference)
    const chain = Object.fromEntries(
      Array.from({ length: 60 }, (_, at) => [`D${at}`, { anyOf: [{ $ref: `#/$defs/D${at + 1}` }, reference] }])
    )
    const many: ReadonlyArray<object> = [
      { anyOf: alternatives, $defs: { A: { properties: ofNames({}) } } },
      { anyOf: alternatives, $defs: { A: { required: names } } },
      { anyOf: alternatives, $defs: { A: { patternProperties: ofNames(0) } } },
      { $ref: "#/$defs/D0", $defs: { A: { properties: ofNames(0) }, ...chain } }
    ]
    const started = process.cpuUsage()
    for (const keywords of many) {
      assert.strictEqual(problem(keywords), "the alternatives of its input schema have more than 65536 names")
    }
    const wide = Array.from({ length: 1_500 }, (_, at) => ({ properties: { [`p${at}`]: 0, [`q${at}`]: 0 } }))
    assert.strictEqual(Object.keys(Object(schemaOf({ anyOf: wide })["properties"])).length, 3_000)
    // With a visit of each alternative for each name it takes 20 seconds.
    assert.isBelow(process.cpuUsage(started).user, 5_000_000)
  })

  it("whose references lead to parts of parts is rejected before it is written out", () => {
    let part: unknown = string
    const pointers: Array<string> = []
    let pointer = "#"
    for (let level = 0; level < 25; level++) {
      pointers.push(pointer += "/properties/a")
      part = { properties: { a: part, b: { description: "b".repeat(300) } } }
    }
    const anyOf = pointers.map(($ref) => ({ $ref }))
    assert.strictEqual(
      problem({ ...Object(part), patternProperties: { x: { anyOf } } }),
      "its input schema has more than 65536 characters"
    )
  })
})

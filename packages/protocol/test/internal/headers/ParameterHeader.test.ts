import { assert, describe, it } from "@effect/vitest"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import * as ParameterHeader from "../../../src/internal/headers/ParameterHeader.ts"

type Members = { readonly [name: string]: unknown }

const schema = (properties: Members, more: Members = {}) => ({ type: "object", properties, ...more })

const annotated = (value: unknown, type: unknown = "string") => ({ type, "x-mcp-header": value })

const problemOf = (inputSchema: object) =>
  Result.getOrElse(Result.flip(ParameterHeader.of(inputSchema)), () => undefined)

describe("the annotations of a tool", () => {
  it("are those of boolean, integer and string properties, also of nested objects", () => {
    const headers = ParameterHeader.of(schema({
      region: annotated("Region"),
      dry: annotated("Dry-Run", "boolean"),
      page: schema({ limit: annotated("Limit", "integer"), "x-mcp-header": { type: "string" } }),
      other: { type: "number" }
    }))
    assert.deepStrictEqual(Result.getOrThrow(headers), [
      { name: "mcp-param-region", path: ["region"], type: "string" },
      { name: "mcp-param-dry-run", path: ["dry"], type: "boolean" },
      { name: "mcp-param-limit", path: ["page", "limit"], type: "integer" }
    ])
  })

  it("mean nothing in data", () => {
    const data = { "x-mcp-header": 5 }
    const headers = ParameterHeader.of(schema({ a: { const: data, default: data, enum: [data], examples: [data] } }))
    assert.deepStrictEqual(Result.getOrThrow(headers), [])
  })

  it.each(["", "a b", "a:b", "a\r\nb", "é", 5, null, ["a"]])("are not %j", (value) => {
    assert.match(problemOf(schema({ a: annotated(value) })) ?? "", /is not the name of a header$/)
  })

  it("are not two of the same name, whatever their case", () => {
    assert.strictEqual(
      problemOf(schema({ a: annotated("Region"), b: annotated("REGION") })),
      "x-mcp-header \"REGION\" is at two properties"
    )
  })

  it.each(["number", "object", "array", "null", null, ["string", "null"]])(
    "are not at a property of type %j",
    (type) =>
      assert.match(problemOf(schema({ a: annotated("A", type) })) ?? "", /type is not boolean, integer or string$/)
  )

  it.each<readonly [string, Members]>([
    ["items", { properties: { a: { type: "array", items: annotated("A") } } }],
    ["prefixItems", { properties: { a: { type: "array", prefixItems: [annotated("A")] } } }],
    ["anyOf", { anyOf: [{ properties: { a: annotated("A") } }] }],
    ["oneOf of a property", { properties: { a: { oneOf: [annotated("A")] } } }],
    ["allOf", { allOf: [{ properties: { a: annotated("A") } }] }],
    ["not", { not: { properties: { a: annotated("A") } } }],
    ["then", { if: {}, then: { properties: { a: annotated("A") } } }],
    ["$defs", { $defs: { a: annotated("A") }, properties: { a: { $ref: "#/$defs/a" } } }],
    ["additionalProperties", { additionalProperties: annotated("A") }],
    ["patternProperties", { patternProperties: { "^a": annotated("A") } }],
    ["the root", annotated("A")]
  ])("are not in %s", (_, more) => {
    assert.match(problemOf({ type: "object", ...more }) ?? "", /is not at a property that "properties" alone lead to$/)
  })

  it("of a schema that is nested too deep are rejected, and cost no stack", () => {
    let inner: Members = annotated("A")
    for (let depth = 0; depth < 20_000; depth++) inner = schema({ a: inner })
    assert.strictEqual(problemOf(inner), "the schema is nested more than 64 levels deep")
  })
})

const headers: ReadonlyArray<ParameterHeader.ParameterHeader> = [
  { name: "mcp-param-region", path: ["region"], type: "string" },
  { name: "mcp-param-dry", path: ["dry"], type: "boolean" },
  { name: "mcp-param-limit", path: ["page", "limit"], type: "integer" }
]

describe("the headers of a call", () => {
  const encode = (input: unknown) => ParameterHeader.encode(headers, input)

  it("repeat the arguments that are there", () => {
    assert.deepStrictEqual(Result.getOrThrow(encode({ region: "Zürich", dry: false, page: { limit: -7 } })), {
      "mcp-param-region": "=?base64?WsO8cmljaA==?=",
      "mcp-param-dry": "false",
      "mcp-param-limit": "-7"
    })
    assert.deepStrictEqual(Result.getOrThrow(encode({ region: null, page: {} })), {})
    assert.deepStrictEqual(Result.getOrThrow(encode(undefined)), {})
    assert.deepStrictEqual(Result.getOrThrow(encode({ page: "limit" })), {})
  })

  it("are not written for an argument of another type, or for an integer that is not safe", () => {
    for (const input of [{ region: 5 }, { dry: "true" }, { page: { limit: 1.5 } }, { page: { limit: 2 ** 53 } }]) {
      assert.isTrue(Result.isFailure(encode(input)), JSON.stringify(input))
    }
  })

  it.prop(
    "do not differ from the arguments that they were written from",
    { region: Schema.String, dry: Schema.Boolean, limit: Schema.Int },
    ({ dry, limit, region }) => {
      const input = { region, dry, page: { limit } }
      assert.isUndefined(ParameterHeader.difference(headers, Result.getOrThrow(encode(input)), input))
    },
    { arbitrary: { runs: 300 } }
  )

  it.each<readonly [string, Record<string, string>, Members, string]>([
    ["is missing", {}, { region: "a" }, "the header mcp-param-region is missing"],
    [
      "differs",
      { "mcp-param-region": "b" },
      { region: "a" },
      "the header mcp-param-region is \"b\", and the argument \"region\" is \"a\""
    ],
    [
      "differs in case",
      { "mcp-param-region": "A" },
      { region: "a" },
      "the header mcp-param-region is \"A\", and the argument \"region\" is \"a\""
    ],
    [
      "repeats nothing",
      { "mcp-param-limit": "1" },
      { page: { limit: null } },
      "the header mcp-param-limit is \"1\", and the argument \"page.limit\" is absent"
    ],
    [
      "is no text",
      { "mcp-param-region": "=?base64?%?=" },
      { region: "a" },
      "the header mcp-param-region has a value that is no text"
    ],
    [
      "belongs to an argument of another type",
      { "mcp-param-region": "5" },
      { region: 5 },
      "the header mcp-param-region is \"5\", and the argument \"region\" is not of type string"
    ],
    [
      "is an integer in another notation",
      { "mcp-param-limit": "0x2A" },
      { page: { limit: 42 } },
      "the header mcp-param-limit is \"0x2A\", and the argument \"page.limit\" is \"42\""
    ]
  ])("a header that %s is a difference", (_, received, input, problem) => {
    assert.strictEqual(ParameterHeader.difference(headers, received, input), problem)
  })

  it("[SHE-29] integers are equal by value", () => {
    assert.isUndefined(ParameterHeader.difference(headers, { "mcp-param-limit": "42.0" }, { page: { limit: 42 } }))
  })
})

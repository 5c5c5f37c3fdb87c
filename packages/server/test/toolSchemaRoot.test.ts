import type { Tool } from "@effect-mcp/protocol"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as SchemaTransformation from "effect/SchemaTransformation"
import { flatten } from "../src/internal/schema/Flattening.ts"
import type { JsonSchema } from "../src/internal/schema/JsonSchemaKeywords.ts"
import * as ObjectRoot from "../src/internal/schema/ObjectRoot.ts"
import { input, inputSchema, output, propertySchema, rejection, validator } from "./toolSchemas.ts"

const integer = { type: "integer", minimum: Number.MIN_SAFE_INTEGER, maximum: Number.MAX_SAFE_INTEGER }

interface Tree {
  readonly children: ReadonlyArray<Tree>
}

const treeNamed = (identifier: string): Schema.Codec<Tree> => {
  const Tree: Schema.Codec<Tree> = Schema.Struct({
    children: Schema.Array(Schema.suspend((): Schema.Codec<Tree> => Tree))
  }).annotate({ identifier })
  return Tree
}

class Task extends Schema.Class<Task>("Task")({ id: Schema.Int }) {}

describe("the root", () => {
  it("is an object for a struct", () => {
    assert.deepStrictEqual(inputSchema(Schema.Struct({ a: Schema.Int })), {
      type: "object",
      properties: { a: integer },
      required: ["a"]
    })
  })

  it("is an object without a reference for a class", () => {
    assert.deepStrictEqual(inputSchema(Task), { type: "object", properties: { id: integer }, required: ["id"] })
  })

  it("is an object without a reference for a schema with an identifier", () => {
    const schema = Schema.Struct({ id: Schema.Int }).annotate({ identifier: "Task" })
    assert.deepStrictEqual(inputSchema(schema), { type: "object", properties: { id: integer }, required: ["id"] })
  })

  it("is inlined for a recursive schema, whose definition stays", () => {
    const tree: Tool.ObjectSchema = {
      type: "object",
      properties: { children: { type: "array", items: { $ref: "#/$defs/Tree" } } },
      required: ["children"]
    }
    assert.deepStrictEqual(inputSchema(treeNamed("Tree")), { ...tree, $defs: { Tree: tree } })
  })

  it("is inlined for a recursive schema without an identifier", () => {
    const Tree: Schema.Codec<Tree> = Schema.Struct({
      children: Schema.Array(Schema.suspend((): Schema.Codec<Tree> => Tree))
    })
    const schema = inputSchema(Tree)
    assert.containSubset(schema, { type: "object", required: ["children"] })
    assert.notProperty(schema, "$ref")
    assert.isFalse(validator(schema)({ children: [{ children: [{}] }] }))
  })

  it("is inlined for a suspended schema", () => {
    assert.containSubset(inputSchema(Schema.suspend(() => Task)), { type: "object", required: ["id"] })
  })

  it("is one object for a union of objects, and has a description of the alternatives", () => {
    const named = Schema.Struct({ name: Schema.String, kind: Schema.Literal("named") })
    assert.deepStrictEqual(inputSchema(Schema.Union([Task, named])), {
      type: "object",
      description: "Give one of these sets of arguments: (id), (name, kind).",
      properties: {
        id: { anyOf: [integer, {}] },
        name: { anyOf: [{ type: "string" }, {}] },
        kind: { anyOf: [{ type: "string", enum: ["named"] }, {}] }
      }
    })
    assert.deepStrictEqual(inputSchema(Schema.Union([Task, Task.annotate({ description: "a task" })])), {
      type: "object",
      properties: { id: integer },
      required: ["id"]
    })
    assert.containSubset(output(Schema.Union([Task, named])).jsonSchema, { anyOf: [{ required: ["id"] }, {}] })
  })

  it("accepts any object for a struct without properties", () => {
    assert.deepStrictEqual(inputSchema(Schema.Struct({})), { type: "object", properties: {} })
    assert.deepStrictEqual(inputSchema(Schema.Record(Schema.String, Schema.Never)), {
      type: "object",
      properties: {},
      additionalProperties: false
    })
    assert.deepStrictEqual(output(Schema.Struct({})).jsonSchema, { type: "object" })
  })

  it("is rejected for parameters that are no object", () => {
    for (const schema of [Schema.String, Schema.Array(Task), Schema.NullOr(Task), Schema.Unknown, Schema.Void]) {
      assert.include(rejection(schema), "the parameters: arguments are an object")
    }
  })

  it("is that of any JSON value for a success, and absent if it describes nothing", () => {
    const kinds = [
      [Schema.String, { type: "string" }],
      [Schema.Array(Task), { type: "array", items: { type: "object" } }],
      [Schema.Finite, { type: "number" }],
      [Schema.UndefinedOr(Task), { anyOf: [{ type: "object" }, { type: "null" }] }],
      [Schema.Union([Task, Schema.String]), { anyOf: [{ type: "object" }, { type: "string" }] }]
    ] as const
    for (const [schema, expected] of kinds) {
      const { isObject, jsonSchema } = output(schema)
      assert.containSubset(jsonSchema, expected)
      assert.isFalse(isObject)
    }
    for (const schema of [Schema.Void, Schema.Null, Schema.Unknown]) assert.isUndefined(output(schema).jsonSchema)
    assert.containSubset(output(Task).jsonSchema, { type: "object" })
    assert.isTrue(output(Task).isObject)
  })

  it("has the definitions that a success of another type than object uses", () => {
    const schema = output(Schema.Array(treeNamed("Tree"))).jsonSchema
    assert.deepStrictEqual([schema?.["type"], Object.keys(Object(schema?.["$defs"]))], ["array", ["Tree"]])
  })
})

describe("definitions", () => {
  it("are named without characters that a reference escapes", () => {
    const schema = inputSchema(Schema.Struct({ a: treeNamed("my/a ~%20é") }))
    assert.deepStrictEqual(Object.keys(Object(schema["$defs"])), ["my_a_20_"])
    assert.include(JSON.stringify(schema), "\"#/$defs/my_a_20_\"")
    assert.isTrue(validator(schema)({ a: { children: [{ children: [] }] } }))
    assert.isFalse(validator(schema)({ a: { children: [{ children: [1] }] } }))
  })

  it("of identifiers that differ only in such characters are two", () => {
    const schema = inputSchema(Schema.Struct({ a: treeNamed("x/y"), b: treeNamed("x y") }))
    assert.isTrue(validator(schema)({ a: { children: [] }, b: { children: [] } }))
    assert.isFalse(validator(schema)({ a: { children: [] }, b: { children: [1] } }))
  })

  it("of two schemas with one identifier are two", () => {
    const point = Schema.Struct({ x: Schema.Int }).annotate({ identifier: "Point" })
    const other = Schema.Struct({ r: Schema.Int }).annotate({ identifier: "Point" })
    const schema = inputSchema(Schema.Struct({ a: point, b: point, c: other, d: other }))
    assert.containSubset(schema, {
      properties: {
        a: { $ref: "#/$defs/Point" },
        b: { $ref: "#/$defs/Point" },
        c: { $ref: "#/$defs/Point_1" },
        d: { $ref: "#/$defs/Point_1" }
      },
      $defs: { Point: { required: ["x"] }, Point_1: { required: ["r"] } }
    })
  })

  it("of equal schemas with two identifiers are two", () => {
    const named = (identifier: string) => Schema.Struct({ x: Schema.Int }).annotate({ identifier })
    const [point, vector] = [named("Point"), named("Vector")]
    const schema = inputSchema(Schema.Struct({ a: point, b: point, c: vector, d: vector }))
    assert.deepStrictEqual(Object.keys(Object(schema["$defs"])), ["Point", "Vector"])
  })

  it("contain only what is used, and all of it", () => {
    interface Left {
      readonly right?: Right
    }
    interface Right {
      readonly left?: Left
    }
    const Left: Schema.Codec<Left> = Schema.Struct({
      right: Schema.optionalKey(Schema.suspend((): Schema.Codec<Right> => Right))
    }).annotate({ identifier: "Left" })
    const Right: Schema.Codec<Right> = Schema.Struct({
      left: Schema.optionalKey(Schema.suspend((): Schema.Codec<Left> => Left))
    }).annotate({ identifier: "Right" })
    const schema = inputSchema(Left)
    const isValid = validator(schema)
    assert.isTrue(isValid({ right: { left: { right: {} } } }))
    assert.isFalse(isValid({ right: { left: { right: 1 } } }))
    // The root is inlined, and nothing else refers to a schema that occurs once.
    assert.notInclude(Object.keys(Object(inputSchema(Task))), "$defs")
    const pair = Schema.Struct({ a: Task, b: Task }).annotate({ identifier: "Pair" })
    assert.deepStrictEqual(Object.keys(Object(inputSchema(pair)["$defs"])), ["Task"])
  })

  it("of a class that occurs with several descriptions is one", () => {
    class User extends Schema.Class<User>("User")({ name: Schema.String }, { description: "a user" }) {}
    const owner = User.annotate({ description: "who owns it" })
    const schema = inputSchema(
      Schema.Struct({ a: User, b: Schema.optionalKey(User), c: owner, d: Schema.Array(owner) })
    )
    assert.deepStrictEqual(schema, {
      type: "object",
      properties: {
        a: { $ref: "#/$defs/User" },
        b: { $ref: "#/$defs/User" },
        c: { $ref: "#/$defs/User", description: "who owns it" },
        d: { type: "array", items: { $ref: "#/$defs/User", description: "who owns it" } }
      },
      required: ["a", "c", "d"],
      $defs: {
        User: {
          type: "object",
          properties: { name: { type: "string" } },
          required: ["name"],
          description: "a user"
        }
      }
    })
  })

  it("of a class get no description that belongs to one use of it", () => {
    const user = Schema.Struct({ name: Schema.String }).annotate({ identifier: "User" })
    const owner = user.annotate({ description: "who owns it" })
    const schema = inputSchema(Schema.Struct({ a: owner, b: owner, c: user, d: user }))
    const described = { $ref: "#/$defs/User", description: "who owns it" }
    const plain = { $ref: "#/$defs/User" }
    assert.deepStrictEqual(schema["properties"], { a: described, b: described, c: plain, d: plain })
    assert.deepStrictEqual(schema["$defs"], {
      User: { type: "object", properties: { name: { type: "string" } }, required: ["name"] }
    })
  })

  it("keep other annotations of copies apart", () => {
    const part = Schema.Struct({ x: Schema.Int })
    const schema = Schema.Struct({ a: part.annotate({ readOnly: true }), b: part })
    const { properties } = inputSchema(schema)
    assert.containSubset(properties, { a: { readOnly: true } })
    assert.deepStrictEqual(properties, {
      a: { ...Object(propertySchema(part)), readOnly: true },
      b: propertySchema(part)
    })
  })

  it("that nothing refers to are left out", () => {
    const { jsonSchema } = ObjectRoot.make({
      schema: { $ref: "#/$defs/a" },
      definitions: {
        a: { type: "object", properties: { b: { $ref: "#/$defs/b" } } },
        b: { enum: [{ $ref: "#/$defs/c" }] },
        c: { type: "string" }
      }
    })
    assert.deepStrictEqual(Object.keys(Object(jsonSchema["$defs"])), ["b"])
  })

  it("keep a schema small whose parts occur twice at each level", () => {
    const level = (depth: number): Schema.Top =>
      depth === 0 ? Schema.Struct({ a: Schema.Int }) : twice(level(depth - 1))
    const twice = (part: Schema.Top): Schema.Top => Schema.Struct({ left: part, right: Schema.optionalKey(part) })
    assert.isBelow(JSON.stringify(inputSchema(level(40))).length, 20_000)
  })
})

describe("allOf", () => {
  it("is joined with its schema where the meaning stays", () => {
    const cases: ReadonlyArray<readonly [before: JsonSchema, after: JsonSchema]> = [
      [{ type: "string", allOf: [{ pattern: "a" }] }, { type: "string", pattern: "a" }],
      [{ type: "string", description: "a", allOf: [{ description: "b" }] }, { type: "string", description: "b" }],
      [{ allOf: [{ $ref: "#/$defs/a" }, { description: "b" }] }, { $ref: "#/$defs/a", description: "b" }]
    ]
    for (const [before, after] of cases) assert.deepStrictEqual(flatten(before), after)
  })

  it("stays where joining would change the meaning", () => {
    const schemas: ReadonlyArray<JsonSchema> = [
      { type: "string", pattern: "a", allOf: [{ pattern: "b" }] },
      { $ref: "#/$defs/a", allOf: [{ minProperties: 1 }] },
      { type: "object", allOf: [{ $ref: "#/$defs/a" }] },
      { type: "object", properties: {}, allOf: [{ additionalProperties: { type: "string" } }] },
      { enum: [{ allOf: [{ title: "a" }] }], default: { allOf: [{ title: "a" }] } }
    ]
    for (const schema of schemas) assert.deepStrictEqual(flatten(schema), schema)
  })
})

describe("keywords", () => {
  it("optional admits null, and optionalKey does not", () => {
    const schema = Schema.Struct({ a: Schema.optional(Schema.Int), b: Schema.optionalKey(Schema.Int) })
    assert.deepStrictEqual(inputSchema(schema), {
      type: "object",
      properties: { a: { anyOf: [integer, { type: "null" }] }, b: integer }
    })
  })

  it("a key with a decoding default is not required in parameters", () => {
    const schema = Schema.Struct({ a: Schema.Int.pipe(Schema.withDecodingDefaultKey(Effect.succeed(1))) })
    assert.deepStrictEqual(inputSchema(schema), { type: "object", properties: { a: integer } })
    assert.deepStrictEqual(Effect.runSync(input(schema).decode({})), { a: 1 })
  })

  it("Number admits the names of NaN and the infinities, and Finite does not", () => {
    assert.deepStrictEqual(propertySchema(Schema.Number), {
      anyOf: [{ type: "number" }, { type: "string", enum: ["Infinity", "-Infinity", "NaN"] }]
    })
    assert.deepStrictEqual(propertySchema(Schema.Finite), { type: "number" })
  })

  it("additionalProperties is false only if excess properties are an error", () => {
    const schema = Schema.Struct({ a: Schema.Struct({ b: Schema.Int }) })
    assert.notProperty(inputSchema(schema), "additionalProperties")
    assert.containSubset(inputSchema(schema, "error"), {
      additionalProperties: false,
      properties: { a: { additionalProperties: false } }
    })
  })

  it("date-time is the format of dates in parameters only", () => {
    const schema = Schema.Struct({
      a: Schema.Date,
      b: Schema.DateTimeUtcFromString,
      c: Schema.optionalKey(Schema.Date),
      d: Schema.DateTimeUtc
    })
    const date = { type: "string", format: "date-time" }
    assert.containSubset(inputSchema(schema), { properties: { a: date, b: date, c: date, d: date } })
    // The year 10000 is no date-time.
    assert.notInclude(JSON.stringify(output(schema).jsonSchema), "date-time")
  })

  it("a string that is decoded as a date in another way has no format", () => {
    const days = Schema.String.pipe(Schema.decodeTo(
      Schema.Date,
      SchemaTransformation.transform({
        decode: (text) => new Date(text.split(".").toReversed().join("-")),
        encode: (date) => date.toISOString().slice(0, 10).split("-").toReversed().join(".")
      })
    ))
    assert.notProperty(propertySchema(days), "format")
  })

  it("an input of Schema.Class decodes to the class", () => {
    const { decode } = input(Task)
    assert.containSubset(decode({ id: 1 }), { value: new Task({ id: 1 }) })
  })
})

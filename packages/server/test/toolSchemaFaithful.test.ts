import { assert, describe, it } from "@effect/vitest"
import * as Arbitrary from "effect/Arbitrary"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Schema from "effect/Schema"
import { input, output, validator } from "./toolSchemas.ts"

class Task extends Schema.Class<Task>("Task")({
  id: Schema.Int,
  due: Schema.Date,
  tags: Schema.optionalKey(Schema.Array(Schema.NonEmptyString))
}, { description: "a task" }) {}

interface Tree {
  readonly name: string
  readonly children: ReadonlyArray<Tree>
}
const Tree: Schema.Codec<Tree> = Schema.Struct({
  name: Schema.String,
  children: Schema.Array(Schema.suspend((): Schema.Codec<Tree> => Tree))
}).annotate({ identifier: "a/b ~%20 Tree" })

interface Expression {
  readonly _tag: "Expression"
  readonly value: number | Operation
}
interface Operation {
  readonly _tag: "Operation"
  readonly left: Expression
  readonly right?: Expression
}
const Expression: Schema.Codec<Expression> = Schema.Struct({
  _tag: Schema.Literal("Expression"),
  value: Schema.Union([Schema.Finite, Schema.suspend((): Schema.Codec<Operation> => Operation)])
})
const Operation: Schema.Codec<Operation> = Schema.Struct({
  _tag: Schema.Literal("Operation"),
  left: Expression,
  right: Schema.optionalKey(Expression)
})

const Point = Schema.Struct({ x: Schema.Finite, y: Schema.Finite }).annotate({ identifier: "Point" })
const OtherPoint = Schema.Struct({ r: Schema.Finite }).annotate({ identifier: "Point" })

/** Schemas by name. Those with `refined: true` check what JSON Schema cannot express. */
const schemas: ReadonlyArray<{
  readonly name: string
  readonly schema: Schema.Codec<unknown, unknown>
  readonly refined?: true
}> = [
  { name: "strings", schema: Schema.Struct({ a: Schema.String, b: Schema.NonEmptyString }) },
  { name: "numbers", schema: Schema.Struct({ a: Schema.Number, b: Schema.Finite, c: Schema.Int }) },
  { name: "bounds", schema: Schema.Struct({ a: Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 5 })) }) },
  { name: "optional", schema: Schema.Struct({ a: Schema.optional(Schema.Int), b: Schema.optionalKey(Schema.Int) }) },
  {
    name: "undefined and null",
    schema: Schema.Struct({ a: Schema.UndefinedOr(Schema.Int), b: Schema.NullOr(Schema.Int) })
  },
  {
    name: "decoding defaults",
    schema: Schema.Struct({
      a: Schema.Int.pipe(Schema.withDecodingDefaultKey(Effect.succeed(1))),
      b: Schema.Int.pipe(Schema.withDecodingDefault(Effect.succeed(1)))
    })
  },
  {
    name: "literals",
    schema: Schema.Struct({ a: Schema.Literals(["x", "y", 1, true]), b: Schema.Literal(1n), c: Schema.Null })
  },
  { name: "enum", schema: Schema.Struct({ a: Schema.Enum({ A: "a", B: 1 }) }) },
  {
    name: "dates",
    schema: Schema.Struct({ a: Schema.Date, b: Schema.DateTimeUtc, c: Schema.optionalKey(Schema.DateFromString) }),
    refined: true
  },
  { name: "bigint", schema: Schema.Struct({ a: Schema.BigInt, b: Schema.optional(Schema.BigInt) }) },
  {
    name: "numbers from strings",
    schema: Schema.Struct({ a: Schema.FiniteFromString, b: Schema.NumberFromString }),
    refined: true
  },
  { name: "class", schema: Task, refined: true },
  {
    name: "class in places",
    schema: Schema.Struct({ a: Task, b: Schema.optionalKey(Task), c: Schema.Array(Task) }),
    refined: true
  },
  { name: "recursive", schema: Tree },
  { name: "recursive inside", schema: Schema.Struct({ a: Tree, b: Schema.optionalKey(Tree) }) },
  { name: "mutually recursive", schema: Operation },
  {
    name: "one identifier of two schemas",
    schema: Schema.Struct({ a: Point, b: OtherPoint, c: Point, d: Schema.Array(OtherPoint) })
  },
  { name: "record", schema: Schema.Record(Schema.String, Schema.Number) },
  { name: "no properties", schema: Schema.Record(Schema.String, Schema.Never) },
  {
    name: "struct and record",
    schema: Schema.StructWithRest(Schema.Struct({ a: Schema.Int }), [Schema.Record(Schema.String, Schema.Finite)])
  },
  { name: "template keys", schema: Schema.Record(Schema.TemplateLiteral(["x-", Schema.String]), Schema.Int) },
  { name: "tuple", schema: Schema.Struct({ a: Schema.Tuple([Schema.Int, Schema.optionalKey(Schema.String)]) }) },
  {
    name: "tuple with rest",
    schema: Schema.Struct({ a: Schema.TupleWithRest(Schema.Tuple([Schema.Int]), [Schema.String]) })
  },
  {
    name: "array lengths",
    schema: Schema.Struct({ a: Schema.Array(Schema.Int).check(Schema.isMinLength(1), Schema.isMaxLength(3)) })
  },
  { name: "unique", schema: Schema.Struct({ a: Schema.UniqueArray(Schema.Int) }) },
  { name: "option", schema: Schema.Struct({ a: Schema.Option(Schema.Int) }) },
  {
    name: "map and set",
    schema: Schema.Struct({ a: Schema.ReadonlyMap(Schema.String, Schema.Int), b: Schema.ReadonlySet(Schema.Boolean) })
  },
  {
    name: "union",
    // The union is one object in the schema, because providers of models reject alternatives at the root.
    refined: true,
    schema: Schema.Union([
      Schema.Struct({ k: Schema.Literal("a"), x: Schema.Int }),
      Schema.Struct({ k: Schema.Literal("b"), x: Schema.String })
    ])
  },
  {
    name: "union in a property",
    schema: Schema.Struct({ a: Schema.Union([Schema.String, Schema.Int, Schema.Struct({ z: Schema.Boolean })]) })
  },
  {
    name: "one of",
    schema: Schema.Struct({
      a: Schema.Union([Schema.Struct({ x: Schema.Int }), Schema.Struct({ y: Schema.Int })], { mode: "oneOf" })
    })
  },
  {
    name: "pattern",
    schema: Schema.Struct({ a: Schema.String.check(Schema.isPattern(/^[a-z]{1,3}$/)) }),
    refined: true
  },
  {
    name: "template literal",
    schema: Schema.Struct({ a: Schema.TemplateLiteral(["v", Schema.Finite]) }),
    refined: true
  },
  {
    name: "predicate",
    schema: Schema.Struct({ a: Schema.String.check(Schema.makeFilter((text: string) => text !== "")) }),
    refined: true
  },
  { name: "brand", schema: Schema.Struct({ a: Schema.String.pipe(Schema.brand("Id")) }) },
  { name: "bytes and URL", schema: Schema.Struct({ a: Schema.Uint8Array, b: Schema.URL }), refined: true },
  { name: "duration", schema: Schema.Struct({ a: Schema.Duration }), refined: true },
  { name: "anything", schema: Schema.Struct({ a: Schema.Json, b: Schema.Unknown, c: Schema.ObjectKeyword }) },
  { name: "void and never", schema: Schema.Struct({ a: Schema.Void, b: Schema.optionalKey(Schema.Never) }) }
]

/** Values that take the place of parts of a valid value. */
const replacements: ReadonlyArray<unknown> = [
  null,
  "",
  "NaN",
  "Infinity",
  "a",
  "x",
  "12",
  "2020-01-01T00:00:00Z",
  0,
  1,
  -1,
  1.5,
  1e300,
  true,
  [],
  {},
  [null],
  { _tag: "None" }
]

/** Returns values that differ from this one in one place. */
const neighbours = function*(value: unknown): Generator<unknown> {
  // The value itself precedes its neighbours, of which only the first are taken.
  yield value
  yield* replacements
  if (Array.isArray(value)) {
    yield value.slice(1)
    yield [...value, ...value.slice(0, 1)]
    yield [...value, "a"]
    for (const [index, part] of value.slice(0, 3).entries()) {
      for (const next of neighbours(part)) yield value.with(index, next)
    }
  } else if (typeof value === "object" && value !== null) {
    yield { ...value, excess: 1 }
    yield { ...value, "x-excess": "a" }
    for (const [key, part] of Object.entries(value).slice(0, 4)) {
      const rest = Object.fromEntries(Object.entries(value).filter(([other]) => other !== key))
      yield rest
      for (const next of neighbours(part)) yield { ...rest, [key]: next }
    }
  }
}

const take = (values: Iterable<unknown>, count: number): ReadonlyArray<unknown> => {
  const taken: Array<unknown> = []
  for (const value of values) {
    if (taken.push(value) === count) break
  }
  return taken
}

const isAccepted = (effect: Effect.Effect<unknown, unknown>): boolean => Exit.isSuccess(Effect.runSyncExit(effect))

/** Returns encoded values that a JSON Schema does not accept. Fails if one of them cannot be decoded. */
const invalid = (schema: Schema.Codec<unknown, unknown>) =>
  Effect.gen(function*() {
    const values = yield* Arbitrary.sampleEffect(Arbitrary.schema(schema), { count: 25, seed: 1 })
    const { encode, jsonSchema: result = {} } = output(schema)
    const { decode, jsonSchema: parameters } = input(schema)
    const checks = [validator(result), validator(parameters)]
    const texts = yield* Effect.forEach(values, (value) => Effect.map(encode(value), (json) => JSON.stringify(json)))
    yield* Effect.forEach(texts, (text) => decode(JSON.parse(text)))
    return texts.filter((text) => !checks.every((check) => check(JSON.parse(text))))
  })

/** Returns how often each verdict of the JSON Schema meets each verdict of decoding, with an example. */
const verdicts = (schema: Schema.Codec<unknown, unknown>, onExcessProperty: "ignore" | "error") =>
  Effect.gen(function*() {
    const values = yield* Arbitrary.sampleEffect(Arbitrary.schema(schema), { count: 5, seed: 2 })
    const { encode } = output(schema)
    const { decode, jsonSchema } = input(schema, onExcessProperty)
    const isValid = validator(jsonSchema)
    const found = new Map<string, unknown>()
    for (const value of values) {
      for (const next of take(neighbours(yield* encode(value)), 90)) {
        const verdict = `${isValid(next) ? "valid" : "invalid"}, ${isAccepted(decode(next)) ? "accepted" : "refused"}`
        found.set(verdict, next)
      }
    }
    return Object.fromEntries(found)
  })

describe("what is described is what is accepted", () => {
  for (const { name, refined = false, schema } of schemas) {
    it.effect(`each encoded value is valid: ${name}`, () =>
      Effect.gen(function*() {
        assert.deepStrictEqual(yield* invalid(schema), [])
      }))

    it.effect(`decoding accepts what is valid: ${name}`, () =>
      Effect.gen(function*() {
        const found = yield* verdicts(schema, "ignore")
        assert.property(found, "valid, accepted")
        assert.property(found, "invalid, refused")
        assert.notProperty(found, "invalid, accepted")
        assert.deepStrictEqual("valid, refused" in found && !refined ? found : {}, {})
      }))

    it.effect(`decoding accepts what is valid if excess properties are an error: ${name}`, () =>
      Effect.gen(function*() {
        const found = yield* verdicts(schema, "error")
        assert.property(found, "valid, accepted")
        assert.notProperty(found, "invalid, accepted")
        assert.deepStrictEqual("valid, refused" in found && !refined ? found : {}, {})
      }))
  }
})

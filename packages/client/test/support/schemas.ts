/** Schemas of many kinds, and compositions of them that are generated from a seed. */
import * as Schema from "effect/Schema"

/** A schema without services. */
export type AnySchema = Schema.Codec<unknown, unknown>

class Task extends Schema.Class<Task>("Task")({
  id: Schema.Int,
  due: Schema.Date,
  tags: Schema.optionalKey(Schema.Array(Schema.NonEmptyString))
}) {}

class NoSuchTask extends Schema.TaggedError<NoSuchTask>()("NoSuchTask", { id: Schema.Int, at: Schema.DateTimeUtc }) {}

interface Tree {
  readonly name: string
  readonly children: ReadonlyArray<Tree>
}
const Tree: Schema.Codec<Tree> = Schema.Struct({
  name: Schema.String,
  children: Schema.Array(Schema.suspend((): Schema.Codec<Tree> => Tree))
}).annotate({ identifier: "Tree" })

/** Texts, among them those that are JSON. */
const Text = Schema.Literals([
  "",
  "12",
  "null",
  "true",
  "\"quoted\"",
  "quoted",
  "{\"a\":1}",
  "[1]",
  "NaN",
  " 1 ",
  "plain"
])

/** Schemas that are not composed of others of this list. */
export const leaves: ReadonlyArray<readonly [name: string, schema: AnySchema]> = [
  ["string", Schema.String],
  ["text", Text],
  ["number", Schema.Number],
  ["integer", Schema.Int],
  ["boolean", Schema.Boolean],
  ["null", Schema.Null],
  ["void", Schema.Void],
  ["bigint", Schema.BigInt],
  ["date", Schema.Date],
  ["date from string", Schema.DateFromString],
  ["date and time", Schema.DateTimeUtc],
  ["duration", Schema.Duration],
  ["bytes", Schema.Uint8Array],
  ["URL", Schema.URL],
  ["number from string", Schema.FiniteFromString],
  ["JSON", Schema.Json],
  ["literals", Schema.Literals(["a", "1", 1, true])],
  ["enum", Schema.Enum({ A: "a", B: 1 })],
  ["template literal", Schema.TemplateLiteral(["v", Schema.Int])],
  ["brand", Schema.String.pipe(Schema.brand("Id"))],
  ["class", Task],
  ["error", NoSuchTask],
  ["recursive", Tree],
  ["no properties", Schema.Struct({})]
]

type Compose = (one: AnySchema, other: AnySchema) => AnySchema

const compositions: ReadonlyArray<readonly [name: string, compose: Compose]> = [
  ["option", (one) => Schema.Option(one)],
  ["result", (one, other) => Schema.Result(one, other)],
  ["array", (one) => Schema.Array(one)],
  ["tuple", (one, other) => Schema.Tuple([one, Schema.optionalKey(other)])],
  ["struct", (one, other) => Schema.Struct({ one, other })],
  ["optional key", (one, other) => Schema.Struct({ one: Schema.optionalKey(one), other })],
  ["optional", (one, other) => Schema.Struct({ one: Schema.optional(one), other })],
  ["result of a name", (one) => Schema.Struct({ result: one })],
  ["record", (one) => Schema.Record(Schema.String, one)],
  ["union", (one, other) => Schema.Union([one, other])],
  ["or null", (one) => Schema.NullOr(one)],
  ["or undefined", (one) => Schema.UndefinedOr(one)],
  ["map", (one, other) => Schema.ReadonlyMap(one, other)],
  ["set", (one) => Schema.ReadonlySet(one)],
  ["chunk", (one) => Schema.Chunk(one)]
]

/** Returns numbers below 1 that follow from a seed (mulberry32). */
const numbers = (seed: number): () => number => {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
}

/** Returns a composition of schemas with its name. */
export const composed = (seed: number): readonly [name: string, schema: AnySchema] => {
  const next = numbers(seed)
  const pick = <A>(all: ReadonlyArray<A>): A => {
    const picked = all[Math.floor(next() * all.length)]
    if (picked === undefined) throw new Error("there is nothing to pick from")
    return picked
  }
  const make = (depth: number): readonly [string, AnySchema] => {
    if (depth === 0) return pick(leaves)
    const [name, compose] = pick(compositions)
    const [one, first] = make(Math.floor(next() * depth))
    const [other, second] = make(Math.floor(next() * depth))
    return [`${name} of (${one}, ${other})`, compose(first, second)]
  }
  return make(3)
}

import { MethodTable } from "@effect-mcp/protocol"
import { assert, describe, it } from "@effect/vitest"
import * as Arbitrary from "effect/Arbitrary"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as TypeGuard from "../../../src/internal/engine/TypeGuard.ts"

const rows = [...Object.values(MethodTable.requests), ...Object.values(MethodTable.notifications)]

const schemas = rows.flatMap((row): ReadonlyArray<readonly [name: string, schema: Schema.Codec<unknown>]> => [
  [`the params of ${row.name}`, row.params],
  ...("result" in row ? [[`the result of ${row.name}`, row.result] as const] : [])
])

const replacements: ReadonlyArray<unknown> = [undefined, null, true, 1, 1.5, Number.NaN, "x", {}, { x: 1 }, [], [1]]

/** Returns the value with each of its parts in turn removed, or replaced by each of the values above. */
const broken = (value: unknown): ReadonlyArray<unknown> => {
  if (Array.isArray(value)) {
    return value.flatMap((item, index) => [...replacements, ...broken(item)].map((other) => value.with(index, other)))
  }
  if (typeof value !== "object" || value === null) return []
  return Object.entries(value).flatMap(([name, member]) => {
    const { [name]: _, ...rest }: { readonly [name: string]: unknown } = { ...value }
    return [rest, ...[...replacements, ...broken(member)].map((other) => ({ ...value, [name]: other }))]
  })
}

/** An array with a hole. */
const sparse: Array<string> = []
sparse.length = 1

/** Returns the value as JSON carries it: without members that are undefined. */
const carried = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(carried)
  return typeof value !== "object" || value === null ? value : Object.fromEntries(
    Object.entries(value).flatMap(([name, member]) => member === undefined ? [] : [[name, carried(member)]])
  )
}

describe("a type guard of the wire", () => {
  it.effect.each(schemas)(
    "accepts %s if and only if Schema.is does, but for members that are undefined",
    ([, schema]) =>
      Effect.gen(function*() {
        const isValid = Schema.is(schema)
        const fits = TypeGuard.make(schema)
        for (const value of yield* Arbitrary.sampleEffect(Arbitrary.schema(schema), { count: 6, seed: 1 })) {
          assert.isTrue(fits(value))
          for (const other of [...replacements, ...broken(value)]) {
            // A guard may accept more only if JSON leaves out what is wrong.
            const accepted = [isValid(other), isValid(carried(other))]
            if (!fits(other)) assert.isFalse(accepted[0], JSON.stringify(other))
            else assert.isTrue(accepted.some((isAccepted) => isAccepted), JSON.stringify(other))
          }
        }
      })
  )

  it.each<readonly [what: string, schema: Schema.Codec<unknown>, values: ReadonlyArray<unknown>]>([
    ["a tuple", Schema.Tuple([Schema.String]), [["x"], [], ["x", "y"]]],
    ["one of two types", Schema.Union([Schema.String, Schema.Literal("x")], { mode: "oneOf" }), ["x", "y", 1]],
    ["a struct without members", Schema.Struct({}), [{}, [], null, 1]],
    ["a struct with a check", Schema.Struct({ a: Schema.Unknown }).check(Schema.makeFilter(() => false)), [{ a: 1 }]],
    ["an array with a check", Schema.Array(Schema.Unknown).check(Schema.isMaxLength(1)), [[1], [1, 2]]],
    ["two checks", Schema.String.check(Schema.isMinLength(1), Schema.isMaxLength(2)), ["", "a", "abc"]],
    ["a sparse array", Schema.Array(Schema.String), [["a"], sparse]],
    ["a required member of the prototype", Schema.Struct({ a: Schema.Undefined }), [
      {},
      { a: undefined },
      Object.create({ a: undefined })
    ]],
    ["a member of the prototype", Schema.Struct({ a: Schema.optionalKey(Schema.String) }), [
      Object.create({ a: "x" }),
      Object.create({ a: 1 }),
      Object.defineProperty({}, "a", { value: 1, enumerable: false })
    ]],
    ["a member __proto__", Schema.Struct({ ["__proto__"]: Schema.optionalKey(Schema.String) }), [
      {},
      JSON.parse("{\"__proto__\":1}")
    ]],
    ["members of one type", Schema.Record(Schema.String, Schema.Finite), [{ a: 1 }, { a: 1, b: "x" }, []]],
    [
      "named members and others",
      Schema.StructWithRest(Schema.Struct({ a: Schema.String }), [
        Schema.Record(Schema.String, Schema.Unknown)
      ]),
      [{ a: "x", b: 1 }, { b: 1 }]
    ]
  ])("accepts %s exactly if Schema.is does", (_, schema, values) => {
    assert.deepStrictEqual(values.map(TypeGuard.make(schema)), values.map(Schema.is(schema)))
  })

  it("accepts an optional member that is undefined, and no other one", () => {
    const fits = TypeGuard.make(Schema.Struct({ a: Schema.String, b: Schema.optionalKey(Schema.String) }))
    assert.deepStrictEqual([{ a: "x", b: undefined }, { a: undefined }, { b: "x" }].map(fits), [true, false, false])
  })

  it("examines no member that its schema does not name", () => {
    const fits = TypeGuard.make(Schema.Struct({ a: Schema.optionalKey(Schema.String) }))
    const unknown = new Proxy({}, {
      ownKeys: () => {
        throw new Error("the names of all members were read")
      }
    })
    assert.isTrue(fits(unknown))
  })
})

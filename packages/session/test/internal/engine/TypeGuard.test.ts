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

describe("a type guard of the wire", () => {
  it.effect.each(schemas)("accepts %s exactly if Schema.is does", ([, schema]) =>
    Effect.gen(function*() {
      const isValid = Schema.is(schema)
      const fits = TypeGuard.make(schema)
      for (const value of yield* Arbitrary.sampleEffect(Arbitrary.schema(schema), { count: 6, seed: 1 })) {
        assert.isTrue(fits(value))
        for (const other of [...replacements, ...broken(value)]) {
          assert.strictEqual(fits(other), isValid(other), JSON.stringify(other))
        }
      }
    }))

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
})

import { assert, describe, it } from "@effect/vitest"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import * as SchemaTransformation from "effect/SchemaTransformation"
import * as ToolCodec from "../src/internal/schema/ToolCodec.ts"
import { propertySchema, rejection } from "./toolSchemas.ts"

class Secret extends Schema.Class<Secret>("Secret")({ token: Schema.Redacted(Schema.String) }) {}

class Opaque {
  readonly value = 1
}

describe("a Redacted is rejected with its path", () => {
  const redacted = Schema.Redacted(Schema.String)
  const schemas: ReadonlyArray<readonly [path: string, schema: Schema.Top]> = [
    ["token", Schema.Struct({ token: redacted })],
    ["token", Schema.Struct({ token: Schema.RedactedFromValue(Schema.String) })],
    ["token", Schema.Struct({ token: Schema.optional(redacted) })],
    ["token", Schema.Struct({ token: redacted.annotate({ description: "secret", identifier: "Token" }) })],
    ["a.token", Schema.Struct({ a: Schema.Struct({ token: redacted }) })],
    ["a[*].token", Schema.Struct({ a: Schema.Array(Secret) })],
    ["a[*]", Schema.Struct({ a: Schema.Record(Schema.String, redacted) })],
    ["a.value", Schema.Struct({ a: Schema.Option(redacted) })],
    ["token", Secret],
    ["a.token", Schema.Struct({ a: Schema.suspend(() => Secret) })],
    ["a", Schema.Struct({ a: Schema.Union([Schema.Int, redacted]) })]
  ]
  for (const [index, [path, schema]] of schemas.entries()) {
    it(`${path} (${index + 1})`, () => {
      assert.include(rejection(schema), `the parameters at ${path}: a Redacted is encoded as the plain secret`)
    })
  }

  it("in a success too", () => {
    const made = ToolCodec.output(Schema.Array(Secret), { subject: "the success of the tool \"login\"" })
    assert.include(Result.isFailure(made) && made.failure.message, "the success of the tool \"login\" at [*].token: ")
  })

  it("before an encoding that leaves it out of sight", () => {
    const inside = Schema.Struct({ a: Schema.String }).pipe(
      Schema.decodeTo(Schema.Struct({ a: Schema.RedactedFromValue(Schema.String) }))
    )
    assert.include(rejection(inside), "the parameters at a: a Redacted")
  })
})

describe("a schema that accepts everything by accident", () => {
  it("is rejected: instanceOf", () => {
    assert.include(
      rejection(Schema.Struct({ a: Schema.Array(Schema.instanceOf(Opaque)) })),
      "the parameters at a[*]: this declaration has no JSON codec"
    )
    assert.include(
      rejection(Schema.Struct({ a: Schema.optional(Schema.instanceOf(Opaque)) })),
      "at a: this declaration"
    )
  })

  it("is rejected: declare", () => {
    const declared = Schema.declare((value): value is Opaque => value instanceof Opaque, { expected: "an opaque" })
    assert.include(rejection(Schema.Struct({ a: declared })), "at a: this declaration (an opaque) has no JSON codec")
    assert.include(rejection(declared), "the parameters: this declaration (an opaque)")
    const already = Schema.declare((value): value is Opaque => value instanceof Opaque, {
      toCodecJson: () => undefined
    })
    assert.include(rejection(Schema.Struct({ a: already })), "at a: this declaration")
  })

  it("is accepted on purpose: Unknown, Any, Json, and a declaration that is encoded as Json", () => {
    for (const schema of [Schema.Unknown, Schema.Any, Schema.Json, Schema.MutableJson]) {
      assert.deepStrictEqual(propertySchema(schema), {})
      assert.deepStrictEqual(propertySchema(Schema.optionalKey(schema)), {})
    }
    assert.containSubset(propertySchema(Schema.JsonObject), { type: "object" })
    const encoded = Schema.declare((value): value is Opaque => value instanceof Opaque, {
      toCodecJson: () =>
        Schema.link<Opaque>()(
          Schema.Json,
          SchemaTransformation.transform({ decode: () => new Opaque(), encode: ({ value }): Schema.Json => value })
        )
    })
    assert.deepStrictEqual(propertySchema(encoded), {})
  })

  it("is accepted on purpose: what is encoded as Json explicitly", () => {
    const explicit = Schema.Json.pipe(Schema.decodeTo(
      Schema.instanceOf(Opaque),
      SchemaTransformation.transform({ decode: () => new Opaque(), encode: ({ value }): Schema.Json => value })
    ))
    assert.deepStrictEqual(propertySchema(explicit), {})
    const array = Schema.declare((value): value is ReadonlyArray<number> => Array.isArray(value), {
      toCodecJson: () => Schema.link<ReadonlyArray<number>>()(Schema.Json, SchemaTransformation.passthroughSupertype())
    })
    assert.deepStrictEqual(propertySchema(array), {})
  })

  it("is accepted with a codec", () => {
    assert.containSubset(propertySchema(Schema.URL), { type: "string" })
  })
})

describe("other schemas that are rejected", () => {
  it("a struct with a symbol as a key", () => {
    assert.include(rejection(Schema.Struct({ [Symbol.for("a")]: Schema.Int })), "the parameters: it has no JSON codec")
  })

  it("a schema that creates itself anew in each suspend", () => {
    const endless = (): Schema.Top => Schema.Struct({ next: Schema.suspend(() => endless()) })
    assert.include(rejection(endless()), "the parameters at next.next.next.next: this schema has more than 20000 parts")
  })
})

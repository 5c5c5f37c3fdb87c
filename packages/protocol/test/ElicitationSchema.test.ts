/** The schema of a form that is made from a Schema. */
import { ElicitationContent, ElicitationSchema } from "@effect-mcp/protocol"
import { assert, describe, it } from "@effect/vitest"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"

/** Returns the field of the one member of a form. */
const fieldOf = (member: Schema.Top) => ElicitationSchema.fromSchema(Schema.Struct({ member })).properties["member"]

describe("a form from a Schema", () => {
  it.each([
    [
      "a string with its limits, title and description",
      Schema.String.annotate({ title: "Name", description: "yours" }).check(
        Schema.isMinLength(1),
        Schema.isMaxLength(9)
      ),
      { type: "string", title: "Name", description: "yours", minLength: 1, maxLength: 9 }
    ],
    ["a string with a format", Schema.String.annotate({ format: "email" }), { type: "string", format: "email" }],
    ["a finite number", Schema.Finite, { type: "number" }],
    [
      "a whole number with its limits and default",
      Schema.Int.check(Schema.isGreaterThanOrEqualTo(1), Schema.isLessThanOrEqualTo(8)).annotate({ default: 2 }),
      { type: "integer", minimum: 1, maximum: 8, default: 2 }
    ],
    ["a boolean", Schema.Boolean, { type: "boolean" }],
    ["an enum", Schema.Literals(["a", "b"]).annotate({ title: "T" }), { type: "string", title: "T", enum: ["a", "b"] }],
    [
      "a string without its pattern",
      Schema.String.check(Schema.isPattern(/^a/)).annotate({ description: "d" }),
      { type: "string", description: "d" }
    ],
    ["one literal", Schema.Literal("a"), { type: "string", enum: ["a"] }],
    ["an array of an enum", Schema.Array(Schema.Literals(["a", "b"])), {
      type: "array",
      items: { type: "string", enum: ["a", "b"] }
    }],
    ["a member with a description of its key", Schema.Boolean.annotateKey({ description: "d" }), {
      type: "boolean",
      description: "d"
    }],
    ["a number that travels as a string", Schema.FiniteFromString, { type: "string" }],
    ["a referenced schema", Schema.Literals(["a", "b"]).annotate({ identifier: "Choice" }), {
      type: "string",
      enum: ["a", "b"]
    }]
  ])("has %s", (_, member, expected) => {
    assert.deepStrictEqual<unknown>(fieldOf(member), expected)
  })

  it("has a string for each value that is a string in JSON", () => {
    const { properties } = ElicitationSchema.fromSchema(Schema.Struct({
      at: Schema.DateTimeUtc,
      date: Schema.Date,
      page: Schema.URL,
      word: Schema.Redacted(Schema.String),
      price: Schema.BigDecimal,
      count: Schema.BigInt,
      nick: Schema.OptionFromNullOr(Schema.String),
      until: Schema.optionalKey(Schema.DateTimeUtc)
    }))
    assert.deepStrictEqual(new Set(Object.values(properties).map(({ type }) => type)), new Set(["string"]))
  })

  it("requires the members that are not optional", () => {
    const form = ElicitationSchema.fromSchema(Schema.Struct({
      a: Schema.String,
      b: Schema.optionalKey(Schema.String),
      c: Schema.optional(Schema.Boolean)
    }))
    assert.deepStrictEqual<unknown>(form, {
      type: "object",
      properties: { a: { type: "string" }, b: { type: "string" }, c: { type: "boolean" } },
      required: ["a"]
    })
    const optional = Schema.Struct({ a: Schema.optionalKey(Schema.String) })
    assert.notProperty(ElicitationSchema.fromSchema(optional), "required")
  })

  it("is made from a class, whose document has a reference at its root", () => {
    class Booking extends Schema.Class<Booking>("Booking")({ name: Schema.String }) {}
    assert.deepStrictEqual<unknown>(ElicitationSchema.fromSchema(Booking), {
      type: "object",
      properties: { name: { type: "string" } },
      required: ["name"]
    })
  })

  it.each([
    ["a nested object", Schema.Struct({ a: Schema.String })],
    ["an array of strings", Schema.Array(Schema.String)],
    ["a number that may be NaN", Schema.Number],
    ["an enum of numbers", Schema.Literals([1, 2])],
    ["a union", Schema.Union([Schema.String, Schema.Boolean])],
    ["null", Schema.Null],
    ["any value", Schema.Unknown]
  ])("cannot have %s: the error names the member", (_, member) => {
    assert.throws(() => fieldOf(member), /^the member "member" cannot be a field of a form: /)
  })

  it("is not made from a schema that describes no object", () => {
    for (const schema of [Schema.String, Schema.Array(Schema.String), Schema.Unknown]) {
      assert.throws(() => ElicitationSchema.fromSchema(schema), /describes no object/)
    }
  })

  const Booking = Schema.Struct({
    name: Schema.NonEmptyString,
    guests: Schema.Int.check(Schema.isGreaterThanOrEqualTo(1), Schema.isLessThanOrEqualTo(8)),
    meal: Schema.optionalKey(Schema.Literals(["vegetarian", "fish"])),
    sure: Schema.Boolean
  })

  it.prop("accepts the encoded values of its Schema", { booking: Booking }, ({ booking }) => {
    const content = Schema.encodeSync(Booking)(booking)
    assert.isTrue(Result.isSuccess(ElicitationContent.check(ElicitationSchema.fromSchema(Booking), content)))
  })
})

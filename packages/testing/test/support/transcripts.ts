import type { Transcript } from "@effect-mcp/testing"
import type { Pattern } from "@effect-mcp/testing/arbitrary"
import * as Arbitrary from "effect/Arbitrary"
import * as Schema from "effect/Schema"

const names = ["a", "b1", "c_", "constructor"] as const

const Any = Schema.Struct({ _tag: Schema.tag("Any") })
const Name = Schema.Struct({ _tag: Schema.tag("Name"), name: Schema.Literals(names) })
const Literal = Schema.Struct({
  _tag: Schema.tag("Literal"),
  value: Schema.Union([Schema.String, Schema.Finite, Schema.Boolean, Schema.Null])
})

/** A pattern before its members get distinct names. */
const members = <Inner extends Schema.Constraint>(inner: Inner) =>
  Schema.Struct({
    _tag: Schema.tag("Object"),
    members: Schema.Array(Schema.Tuple([Schema.String, inner])).check(
      Schema.makeFilter((all) => new Set(all.map(([name]) => name)).size === all.length)
    ),
    open: Schema.Boolean
  })

const elements = <Inner extends Schema.Constraint>(inner: Inner) =>
  Schema.Struct({ _tag: Schema.tag("Array"), elements: Schema.Array(inner), open: Schema.Boolean })

const PatternSchema: Schema.Codec<Pattern.Pattern> = Schema.Union([
  Any,
  Name,
  Literal,
  members(Schema.suspend(() => PatternSchema)),
  elements(Schema.suspend(() => PatternSchema))
])

const Said = Schema.Union([Name, Literal, members(Literal), elements(members(Schema.Union([Name, Literal])))])

const Millis = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 1e9 }))

const Remark = Schema.Union([
  Schema.Struct({ _tag: Schema.tag("Blank") }),
  Schema.Struct({
    _tag: Schema.tag("Comment"),
    text: Schema.String.check(Schema.makeFilter((text) => text === text.trim() && !text.includes("\n")))
  })
])
const Send = Schema.Struct({ _tag: Schema.tag("Send"), message: Said })
const Expect = Schema.Struct({ _tag: Schema.tag("Expect"), pattern: PatternSchema })
const InOrder = Schema.Struct({
  _tag: Schema.tag("InOrder"),
  steps: Schema.Array(Schema.Union([Send, Expect, Remark]))
})
const Step = Schema.Union([
  Send,
  Expect,
  Remark,
  Schema.Struct({ _tag: Schema.Literals(["SendEnd", "ExpectEnd", "ExpectUnreadable"]) }),
  Schema.Struct({ _tag: Schema.Literals(["Wait", "Silence", "Deadline"]), millis: Millis }),
  Schema.Struct({ _tag: Schema.tag("Ignore"), pattern: PatternSchema }),
  Schema.Struct({ _tag: Schema.tag("AnyOrder"), steps: Schema.Array(Schema.Union([Expect, InOrder, Remark])) })
])

/** Closes a pattern, because a message to send has no open rest. */
const closed = (pattern: Pattern.Pattern): Pattern.Pattern => {
  switch (pattern._tag) {
    case "Object":
      return { ...pattern, members: pattern.members.map(([name, member]) => [name, closed(member)]), open: false }
    case "Array":
      return { ...pattern, elements: pattern.elements.map(closed), open: false }
    default:
      return pattern
  }
}

const saying = <One extends Transcript.Step | Transcript.InOrder>(step: One): One =>
  step._tag === "Send" ? { ...step, message: closed(step.message) } : step

/** Generates patterns. */
export const patterns: Arbitrary.Arbitrary<Pattern.Pattern> = Arbitrary.schema(PatternSchema)

/** A first line that binds every name, so that any message may use them. */
const binding: Transcript.Step = {
  _tag: "Expect",
  pattern: { _tag: "Array", elements: names.map((name) => ({ _tag: "Name", name })), open: true }
}

/** Generates transcripts. */
export const transcripts: Arbitrary.Arbitrary<Transcript.Transcript> = Arbitrary.map(
  Arbitrary.schema(Schema.Array(Step)),
  (steps) => [
    binding,
    ...steps.map((step): Transcript.Step =>
      step._tag === "AnyOrder"
        ? {
          ...step,
          steps: step.steps.map((inner) =>
            inner._tag === "InOrder" ? { ...inner, steps: inner.steps.map(saying) } : inner
          )
        }
        : saying(step)
    )
  ]
)

import * as Schema from "effect/Schema"

/**
 * What a conversation is made of. Each command is small, and any sequence of them is a legal conversation, so that a failing
 * one shrinks to few.
 */
export const Command = Schema.Union([
  Schema.TaggedStruct("Call", {
    tool: Schema.Literals(["echo", "later", "never", "steps", "die", "refuse", "ask", "stubborn"]),
    deadline: Schema.Literals([0, 15, 60_000])
  }),
  Schema.TaggedStruct("Interrupt", { which: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 5 })) }),
  Schema.TaggedStruct("Advance", { millis: Schema.Literals([1, 10, 100]) }),
  Schema.TaggedStruct("Inject", {
    at: Schema.Literals(["client", "server"]),
    frame: Schema.Literals([
      "NotJson",
      "Malformed",
      "UnknownResponse",
      "TextualId",
      "NullId",
      "Repetition",
      "StrayProgress",
      "StrayCancel",
      "Initialize",
      "Initialized"
    ])
  }),
  Schema.TaggedStruct("ServerPing", {}),
  Schema.TaggedStruct("Log", {}),
  Schema.TaggedStruct("Close", { who: Schema.Literals(["client", "server"]) })
])

/** One command. */
export type Command = typeof Command.Type

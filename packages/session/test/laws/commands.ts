import * as Schema from "effect/Schema"

/**
 * What a conversation is made of. Each command is small, and any sequence of them is a legal conversation, so that a failing
 * one shrinks to few.
 */
export const Command = Schema.Union([
  Schema.Struct({
    _tag: Schema.Literal("Call"),
    tool: Schema.Literals(["echo", "later", "never", "steps", "die", "refuse", "ask", "stubborn"]),
    deadline: Schema.Literals([0, 15, 60_000])
  }),
  Schema.Struct({
    _tag: Schema.Literal("Interrupt"),
    which: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 5 }))
  }),
  Schema.Struct({ _tag: Schema.Literal("Advance"), millis: Schema.Literals([1, 10, 100]) }),
  Schema.Struct({
    _tag: Schema.Literal("Inject"),
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
  Schema.Struct({ _tag: Schema.Literal("ServerPing") }),
  Schema.Struct({ _tag: Schema.Literal("Log") }),
  Schema.Struct({ _tag: Schema.Literal("Close"), who: Schema.Literals(["client", "server"]) })
])

/** One command. */
export type Command = typeof Command.Type

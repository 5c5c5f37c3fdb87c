/**
 * What a simulated conversation is made of: small commands, any sequence of which makes sense, so that a long one that fails shrinks
 * to a short one that fails.
 */
import * as Schema from "effect/Schema"

const session = Schema.Literals([0, 1])
const side = Schema.Literals(["client", "server"])

/**
 * The tools of the simulated server; each shows one side of serving.
 */
export const Tool = Schema.Literals([
  "echo",
  "later",
  "never",
  "steps",
  "walk",
  "report",
  "refuse",
  "die",
  "throwNull",
  "unserializable",
  "stubborn",
  "linger",
  "ping",
  "elicit",
  "elicitNested",
  "elicitDie",
  "elicitNever",
  "elicitClose",
  "close"
])

/**
 * A tool of the simulated server.
 */
export type Tool = typeof Tool.Type

/**
 * What comes in that no session has sent.
 */
export const Injection = Schema.Literals([
  "NotJson",
  "MuchNotJson",
  "Malformed",
  "UnknownResponse",
  "TextualId",
  "NullId",
  "RepeatedResponse",
  "StrayProgress",
  "ProgressBehind",
  "Log",
  "StrayCancel",
  "Cancel",
  "Initialize",
  "Initialized",
  "Request",
  "DuplicateRequest"
])

/**
 * Something that no session has sent.
 */
export type Injection = typeof Injection.Type

/**
 * The commands. Each one about a session opens it, if it is not open yet; `Open` does only that.
 *
 * - `Call` calls a tool, in a fiber of its own; `Burst` calls one several times at once; `CallAndInterrupt` gives up at once.
 *   Progress may put its deadline off, up to a cap or freely.
 * - `Interrupt` gives up a call; calls are counted from 0.
 * - `Ask` lets the server ask something on its own account; `Notify` lets a side tell something.
 * - `Inject` puts bytes on the wire towards a side.
 * - `Advance` lets time pass, in milliseconds.
 * - `Stall` holds up what is sent towards a side until `Recover`; `FailWrite`, `HalfClose` and `Cut` are what they say; what
 *   is unterminated before a half-close is a request without its newline.
 * - `Close` closes a session in good order.
 */
export const Command = Schema.Union([
  Schema.TaggedStruct("Call", {
    session,
    tool: Tool,
    deadline: Schema.Literals([60_000, 15, 0]),
    extension: Schema.Literals(["None", "Capped", "Free"])
  }),
  Schema.TaggedStruct("Advance", { millis: Schema.Literals([1, 10, 100, 30_000, 3_600_000]) }),
  Schema.TaggedStruct("Interrupt", { call: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 5 })) }),
  Schema.TaggedStruct("CallAndInterrupt", { session, tool: Tool }),
  Schema.TaggedStruct("Burst", {
    session,
    tool: Schema.Literals(["echo", "never", "steps"]),
    count: Schema.Literals([2, 4, 10])
  }),
  Schema.TaggedStruct("Inject", { session, at: side, what: Injection }),
  Schema.TaggedStruct("Ask", { session, what: Schema.Literals(["ping", "elicit", "roots"]) }),
  Schema.TaggedStruct("Notify", { session, by: side }),
  Schema.TaggedStruct("Stall", { session, towards: side }),
  Schema.TaggedStruct("Recover", { session, towards: side }),
  Schema.TaggedStruct("Close", { session, by: side }),
  Schema.TaggedStruct("HalfClose", { session, by: side, unterminated: Schema.Boolean }),
  Schema.TaggedStruct("FailWrite", { session, by: side }),
  Schema.TaggedStruct("Cut", { session }),
  Schema.TaggedStruct("Open", { session })
])

/**
 * A command.
 */
export type Command = typeof Command.Type

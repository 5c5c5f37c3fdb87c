/**
 * The commands of a simulated conversation.
 *
 * They are small, and each sequence of them is meaningful, so that a long failing conversation shrinks to a short one.
 */
import * as Schema from "effect/Schema"

const session = Schema.Literals([0, 1])
const side = Schema.Literals(["client", "server"])
const resource = Schema.Literals(["a", "b"])

/** The tools of the simulated server. Each shows one aspect of serving. */
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
  "elicitTwice",
  "elicitBoth",
  "elicitOnce",
  "elicitSteps",
  "close"
])

/** A tool of the simulated server. */
export type Tool = typeof Tool.Type

/** The kinds of data that no session has sent. */
export const Injection = Schema.Literals([
  "NotJson",
  "MuchNotJson",
  "Malformed",
  "UnknownResponse",
  "PaddedId",
  "TextualId",
  "NullId",
  "RepeatedResponse",
  "StrayProgress",
  "LateProgress",
  "Log",
  "StrayCancel",
  "Cancel",
  "Initialize",
  "Initialized",
  "Request",
  "DuplicateRequest",
  "RequestOfOtherEra",
  "ForgedState"
])

/** Data that no session has sent. */
export type Injection = typeof Injection.Type

/**
 * The commands. A command for a session opens the session if it is not open; `Open` does only that.
 *
 * - `Call` calls a tool in a fiber of its own; `Burst` calls a tool several times at once; `CallAndInterrupt`
 *   interrupts its call at once. Progress may extend the deadline, up to a limit or freely.
 * - `Interrupt` interrupts a call; calls are counted from 0.
 * - `ServerRequest` makes the server send a request on its own initiative; `Notify` makes a side send a notification.
 * - `Subscribe` and `Unsubscribe` make the client subscribe to a resource, in a fiber of its own, or end that. `Change`
 *   makes the server notify of a change of a resource.
 * - `Inject` puts bytes on the wire towards a side, or changes its next response (`TextualId`).
 * - `Advance` advances the clock by this number of milliseconds.
 * - `Stall` holds all messages towards a side until `Recover`. `FailWrite`, `HalfClose` and `Cut` affect the
 *   connection. An unterminated half-close sends a request without its line feed first.
 * - `Close` closes a session gracefully.
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
  Schema.TaggedStruct("ServerRequest", { session, what: Schema.Literals(["ping", "elicit", "roots"]) }),
  Schema.TaggedStruct("Notify", { session, by: side }),
  Schema.TaggedStruct("Subscribe", { session, resource }),
  Schema.TaggedStruct("Unsubscribe", { session, resource }),
  Schema.TaggedStruct("Change", { session, resource }),
  Schema.TaggedStruct("Stall", { session, towards: side }),
  Schema.TaggedStruct("Recover", { session, towards: side }),
  Schema.TaggedStruct("Close", { session, by: side }),
  Schema.TaggedStruct("HalfClose", { session, by: side, unterminated: Schema.Boolean }),
  Schema.TaggedStruct("FailWrite", { session, by: side }),
  Schema.TaggedStruct("Cut", { session }),
  Schema.TaggedStruct("Open", { session })
])

/** A command. */
export type Command = typeof Command.Type

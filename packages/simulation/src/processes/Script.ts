/** A script: the commands of a simulation of a fleet, and its setting. */
import * as Schema from "effect/Schema"

/** The places of the processes that can run at the same time. A process that is started in a place is a new one. */
export const slots = [0, 1, 2] as const

const slot = Schema.Literals(slots)

/** The clients. Each has a principal of its own, and one session at a time. */
const client = Schema.Literals([0, 1])

/** A number of operations of a process: of its stores, or requests to other processes. */
const operations = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 8 }))

/** The tools of the server. */
export const tools = ["echo", "slow", "ask", "touch", "wait", "book"] as const

/** The levels that a client sets. The tool `touch` logs one message of the level `info`. */
export const levels = ["debug", "error"] as const

/** The commands. */
export const commands = [
  /** Opens a session, unless the client has one. */
  Schema.TaggedStruct("Initialize", { client, slot }),
  /**
   * A call of a tool. `echo`: returns at once. `slow`: reports progress for 2.4 s. `ask`: asks a question. `touch`:
   * logs a message, and changes a resource that the client can be subscribed to. `wait`: returns after 0.6 s. `book`:
   * does a step that happens once, and asks a question. It goes on at the next owner of the session.
   */
  Schema.TaggedStruct("Call", { client, slot, tool: Schema.Literals(tools) }),
  /** Sends the last call again, with the same id. */
  Schema.TaggedStruct("Repeat", { client, slot }),
  /** Answers a question. `Again`: one that was answered or cancelled before. */
  Schema.TaggedStruct("Answer", { client, slot, which: Schema.Literals(["First", "Last", "Again"]) }),
  /** Cancels the last call. */
  Schema.TaggedStruct("Cancel", { client, slot }),
  /** Resumes a stream whose connection broke. `Again`: from its first event, also if it has ended. */
  Schema.TaggedStruct("Resume", { client, slot, which: Schema.Literals(["First", "Last", "Again"]) }),
  /** Opens the standalone stream. */
  Schema.TaggedStruct("Listen", { client, slot }),
  Schema.TaggedStruct("Subscribe", { client, slot, isOn: Schema.Boolean }),
  Schema.TaggedStruct("SetLevel", { client, slot, level: Schema.Literals(levels) }),
  /** Ends the session. */
  Schema.TaggedStruct("Delete", { client, slot }),
  /** Breaks the connections of a client. */
  Schema.TaggedStruct("Break", { client }),
  /** The other principal uses the session of the client. */
  Schema.TaggedStruct("Intrude", {
    client,
    slot,
    by: Schema.Literals(["Call", "Answer", "Cancel", "Listen", "Resume", "Delete"])
  }),
  /** Time passes. The lease is 2 s. */
  Schema.TaggedStruct("Pass", { millis: Schema.Literals([20, 300, 1200, 2300, 5500, 11_000]) }),
  /** Starts a process, if none runs in the slot. */
  Schema.TaggedStruct("Start", { slot }),
  /** Ends a process in order. */
  Schema.TaggedStruct("Stop", { slot }),
  /** Ends a process without its finalizers before or after one of its next operations is sent. */
  Schema.TaggedStruct("Kill", { slot, operations, isAfter: Schema.Boolean }),
  /** Pauses a process before or after one of its next operations is sent. */
  Schema.TaggedStruct("Pause", { slot, operations, isAfter: Schema.Boolean }),
  Schema.TaggedStruct("Continue", { slot }),
  /** Sets the wall clock of a process, as a correction of the time does. */
  Schema.TaggedStruct("SetClock", { slot, by: Schema.Literals([-10_000, 10_000]) }),
  /**
   * Disturbs operations of the stores of a process, after some that are not disturbed. `Fails`: they have no effect.
   * `Lost`: they fail after their effect. `Late`: they take effect 2.5 s or 6 s later, or their answers arrive so late.
   * `Silent`: they take effect, and no answer arrives.
   */
  Schema.TaggedStruct("Store", {
    slot,
    fault: Schema.Literals(["Fails", "Lost", "Late", "Silent"]),
    kind: Schema.Literals(["any", "owners", "sessions", "events", "tasks"]),
    undisturbed: operations,
    operations: Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 4 }))
  }),
  /** The stores are away for all processes, and keep their contents. */
  Schema.TaggedStruct("Outage", { millis: Schema.Literals([600, 3000, 9000]), isSilent: Schema.Boolean }),
  /** Nothing passes between two processes until `Mend`. */
  Schema.TaggedStruct("Cut", { slot, other: slot }),
  Schema.TaggedStruct("Mend", {}),
  /**
   * Disturbs the next request, of a client or from process to process. `Refused`: no connection. `Before`, `After`: the
   * connection breaks before or after the request has arrived. `Lost`: it breaks when the response begins. `Midway`: it
   * breaks after a part of the response.
   */
  Schema.TaggedStruct("Network", {
    of: Schema.Literals(["Client", "Process"]),
    fault: Schema.Literals(["Refused", "Before", "After", "Lost", "Midway"])
  })
] as const

const Command = Schema.Union(commands)

/** A command. */
export type Command = typeof Command.Type

/** A script. */
export const Script = Schema.Struct({
  /** The order in which ready fibers continue. */
  interleaving: Schema.Literals(["Fair", "Random"]),
  /** The seed of all random decisions. */
  seed: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 999_999 })),
  /** The longest time of an operation of a store in each direction, in milliseconds. With 0 it completes at once. */
  storeMillis: Schema.Literals([0, 10, 400]),
  /** Whether the monotonic clock of a process stands while it is paused, as that of a suspended machine does. */
  sleeps: Schema.Boolean,
  /** The number of processes before the first command. */
  processes: Schema.Literals([1, 2, 3]),
  /** Whether the first client has a session at the first process before the first command. */
  isOpen: Schema.Boolean,
  commands: Schema.Array(Command)
})

/** A script. */
export type Script = typeof Script.Type

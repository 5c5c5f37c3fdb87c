/** A script: the commands of a simulation of credentials, and its setting. */
import * as Schema from "effect/Schema"

/** The processes that can run at the same time. They share one token store. */
export const slots = [0, 1, 2] as const

const slot = Schema.Literals(slots)

/** A number of operations of a process, of the store or of HTTP. */
const operations = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 12 }))

/** The commands. */
export const commands = [
  /** A call of the server. `write` needs a scope that the first sign-in has not requested. */
  Schema.TaggedStruct("Call", { slot, operation: Schema.Literals(["read", "write"]) }),
  /** A call that the server redirects to another origin. */
  Schema.TaggedStruct("CallElsewhere", { slot }),
  /** Time passes. */
  Schema.TaggedStruct("Pass", { millis: Schema.Literals([20, 500, 3000, 12_000, 46_000, 61_000]) }),
  /** Starts a process, if none runs in the slot. */
  Schema.TaggedStruct("Start", { slot }),
  /** Ends a process in order. */
  Schema.TaggedStruct("Close", { slot }),
  /** Ends a process without its finalizers before or after one of its next operations takes effect. */
  Schema.TaggedStruct("Kill", { slot, operations, isAfter: Schema.Boolean }),
  /** Suspends a process before or after one of its next operations takes effect. */
  Schema.TaggedStruct("Suspend", { slot, operations, isAfter: Schema.Boolean }),
  Schema.TaggedStruct("Resume", { slot }),
  Schema.TaggedStruct("Login", { slot }),
  Schema.TaggedStruct("Logout", { slot }),
  /** Decides how the person answers the windows that are open, and those that open later. */
  Schema.TaggedStruct("Person", { answer: Schema.Literals(["Approves", "Denies", "Ignores"]) }),
  /**
   * Disturbs the next token request. `Slow`: the response takes 4 s. `Late`: the request takes 14 s to arrive.
   * `Lost`: the connection breaks after the issuer has answered. `Silent`: the response never arrives. `Outage`: the
   * issuer answers with 503. `Unreachable`: the connection fails.
   */
  Schema.TaggedStruct("Issuer", {
    fault: Schema.Literals(["Slow", "Late", "Lost", "Silent", "Outage", "Unreachable"])
  }),
  /** Disturbs the next operations of the store. `Fails`: they have no effect. `Lost`: they fail after their effect. */
  Schema.TaggedStruct("Store", {
    fault: Schema.Literals(["Fails", "Lost"]),
    kind: Schema.Literals(["any", "write"]),
    operations: Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 6 }))
  }),
  /** The person revokes what the client was granted, at the issuer. */
  Schema.TaggedStruct("Revoke", {}),
  /** The issuer revokes the access tokens, and no refresh token. */
  Schema.TaggedStruct("RevokeAccess", {}),
  /** The server changes to the other issuer. */
  Schema.TaggedStruct("Migrate", {})
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
  /**
   * The refresh tokens of the issuers. `Rotating`: each is good for one request, and its reuse revokes the grant.
   * `Graceful`: for 30 s, its reuse returns the successor. `Fixed`: they are not rotated.
   */
  rotation: Schema.Literals(["Rotating", "Graceful", "Fixed"]),
  /** The longest time of an operation of the store, in milliseconds. */
  storeMillis: Schema.Literals([0, 20, 1200]),
  /** Whether the program asks the person whether to open another window. */
  confirms: Schema.Boolean,
  /** Whether a person has signed in before the first command. */
  isSignedIn: Schema.Boolean,
  /** The number of processes before the first command. */
  processes: Schema.Literals([1, 2, 3]),
  commands: Schema.Array(Command)
})

/** A script. */
export type Script = typeof Script.Type

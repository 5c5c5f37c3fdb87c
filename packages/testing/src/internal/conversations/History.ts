/**
 * All that can be known of a simulated conversation afterwards.
 */
import type { JsonRpc, MethodDefinition } from "@effect-mcp/protocol"
import type { SessionEvent, Transport } from "@effect-mcp/session"
import type { Command } from "./Command.ts"
import type { Conversation } from "./Conversation.ts"

/**
 * How a request ended for who made it: with a result, by a `RequestError` of this reason, by interruption, or by a defect.
 */
export interface End {
  /** `Success`, `Interrupted`, `Died`, or the tag of the reason of the `RequestError`. */
  readonly kind: string
  /** Of an `ErrorResponse`: its code. */
  readonly code: number | undefined
  /** Of a result: the number of the call that it says it is for. */
  readonly nonce: unknown
}

/**
 * How a handler ended.
 */
export type HandlerEnd = "Answered" | "Failed" | "Died" | "Interrupted"

/**
 * Something that happened, in the order in which it did.
 *
 * - `Commanded`: a command was carried out. Every conversation ends with three that are not its own: in `Quiet` all wires recover,
 *   and what is on its way comes to rest; in `Probe` both sides of each session ask once more, to see whether it still works;
 *   in `End` both are closed.
 * - `Sent` and `Received`: a message between a session and its transport; one that was sent on the stream of a request
 *   has the id of that request as its `stream`. `Unreadable`: bytes that were none. `Unwritable`: a message that no
 *   bytes can carry. `Taken`: the transport has done with the reply to this id.
 * - `Event`: what the session said of itself.
 * - `Opened`: the client shook hands, or failed to.
 * - `Started`, `Stepped`, `Ended`: a request that the program made: a call of the client, with its number, or a question of the
 *   server.
 * - `HandlerStarted`, `HandlerEnded`: a handler ran, for the request of this id.
 * - `Logged`: the client's handler was given a log message.
 * - `Looked`: what a session said when it was asked in a quiet moment.
 */
export type Event =
  | { readonly _tag: "Commanded"; readonly command: Command | "Quiet" | "Probe" | "End" }
  | {
    readonly _tag: "Sent"
    readonly message: JsonRpc.Message
    readonly stream: JsonRpc.Request["id"] | undefined
  }
  | { readonly _tag: "Received"; readonly message: JsonRpc.Message }
  | { readonly _tag: "Unreadable"; readonly error: Transport.FrameError }
  | { readonly _tag: "Unwritable"; readonly id: JsonRpc.Response["id"] }
  | { readonly _tag: "Taken"; readonly id: JsonRpc.Response["id"] }
  | { readonly _tag: "Event"; readonly event: SessionEvent.SessionEvent }
  | { readonly _tag: "Opened"; readonly revision: string | undefined }
  | {
    readonly _tag: "Started"
    readonly nonce: number
    readonly what: string
    readonly deadline: number
    readonly total: number | undefined
    readonly probe: boolean
  }
  | { readonly _tag: "Stepped"; readonly nonce: number; readonly progress: number }
  | { readonly _tag: "Ended"; readonly nonce: number; readonly end: End }
  | {
    readonly _tag: "HandlerStarted"
    readonly run: number
    readonly method: string
    readonly id: JsonRpc.Request["id"]
    readonly nonce: unknown
  }
  | { readonly _tag: "Logged"; readonly data: unknown }
  | { readonly _tag: "HandlerEnded"; readonly run: number; readonly how: HandlerEnd }
  | {
    readonly _tag: "Looked"
    readonly when: "Quiet" | "End"
    readonly state: string
    readonly sent: number
    readonly served: number
  }

/**
 * When, where, and what.
 */
export interface Entry {
  /** Milliseconds of virtual time since the conversation began. */
  readonly at: number
  readonly session: number
  readonly side: MethodDefinition.Role
  readonly happening: Event
}

/**
 * What happened, and what was left when everything had ended.
 */
export interface History {
  readonly conversation: Conversation
  readonly entries: ReadonlyArray<Entry>
  /** The fibers that were alive at the end. */
  readonly fibersLeft: number
  /** How many requests of the peer a session served at the same time at most. */
  readonly incoming: number
}

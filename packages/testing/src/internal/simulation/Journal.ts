/** The record of what happens in a simulated conversation. */
import type { JsonRpc, MethodDefinition } from "@effect-mcp/protocol"
import type { SessionEvent, Transport } from "@effect-mcp/session"

/** The end of a request for its caller: a result, a `RequestError` with this reason, an interruption, or a defect. */
export interface End {
  /** `Success`, `Interrupted`, `Died`, or the tag of the reason of the `RequestError`. */
  readonly kind: string
  /** The code of an `ErrorResponse`. */
  readonly code: number | undefined
  /** The number of the call that a result names. */
  readonly nonce: unknown
}

/** The end of a handler. */
export type HandlerEnd = "Answered" | "Failed" | "Died" | "Interrupted"

/**
 * An event, in the order of events.
 *
 * - `Commanded`: a command was executed. `Noted`: something else that a report mentions, about a client.
 * - `Sent` and `Received`: a message between a session and its transport. A message that was sent on the stream of a
 *   request has the id of that request as its `stream`. `Unreadable`: bytes that were not a message. `Unwritable`: a
 *   message that no bytes can represent. `ReplyHandedOver`: the transport has finished with the reply to this id.
 * - `StreamLeft`: the client has closed the stream of its request with this id, or the server has learned that, about
 *   the requests with these numbers in the order of their arrival.
 * - `SessionEvent`: an event of the session.
 * - `Opened`: the handshake of the client succeeded or failed.
 * - `Started`, `Progressed`, `Ended`: a request of the program: a call of the client, with its number, or a request of
 *   the server.
 * - `HandlerStarted`, `HandlerEnded`: a handler ran, for the request with this id.
 * - `Stepped`: a step that must not run again has run, for the request with this id.
 * - `Logged`, `Updated`: the client's handler received a log message, or a change of a resource. `Changed`: the server
 *   notified of a change.
 * - `Inspected`: the state of a session in a quiet moment.
 */
export type Event<Command = never> =
  | { readonly _tag: "Commanded"; readonly command: Command }
  | { readonly _tag: "Noted"; readonly client: number | undefined; readonly text: string }
  | {
    readonly _tag: "Sent"
    readonly message: JsonRpc.Message
    /** The message on the wire, where the id of a reply may be text. */
    readonly carried: JsonRpc.Message
    readonly stream: JsonRpc.Request["id"] | undefined
  }
  | { readonly _tag: "Received"; readonly message: JsonRpc.Message }
  | { readonly _tag: "Unreadable"; readonly error: Transport.FrameError }
  | { readonly _tag: "Unwritable"; readonly id: JsonRpc.Response["id"] }
  | { readonly _tag: "ReplyHandedOver"; readonly id: JsonRpc.Response["id"] }
  | {
    readonly _tag: "StreamLeft"
    readonly id: JsonRpc.Request["id"]
    readonly received: ReadonlyArray<number>
  }
  | { readonly _tag: "SessionEvent"; readonly detail: SessionEvent.SessionEvent }
  | { readonly _tag: "Opened"; readonly revision: string | undefined }
  | {
    readonly _tag: "Started"
    readonly nonce: number
    readonly what: string
    readonly deadline: number
    readonly total: number | undefined
    readonly probe: boolean
  }
  | { readonly _tag: "Progressed"; readonly nonce: number; readonly progress: number }
  | { readonly _tag: "Ended"; readonly nonce: number; readonly end: End }
  | {
    readonly _tag: "HandlerStarted"
    readonly run: number
    readonly method: string
    readonly id: JsonRpc.Request["id"]
    readonly nonce: unknown
  }
  | { readonly _tag: "Stepped"; readonly id: JsonRpc.Request["id"]; readonly nonce: unknown }
  | { readonly _tag: "Logged"; readonly data: unknown }
  | { readonly _tag: "Changed" | "Updated"; readonly uri: string }
  | { readonly _tag: "HandlerEnded"; readonly run: number; readonly how: HandlerEnd }
  | {
    readonly _tag: "Inspected"
    readonly when: "Quiet" | "End"
    readonly state: string
    readonly sent: number
    readonly served: number
  }

/** An event with its time and place. */
export interface Entry<Command = never> {
  /** The virtual time since the start of the conversation, in milliseconds. */
  readonly at: number
  readonly session: number
  readonly side: MethodDefinition.Role
  readonly event: Event<Command>
}

/** The state that the recorders of one history share: its entries, and the assigned numbers. */
export interface Journal<Command = never> {
  readonly entries: Array<Entry<Command>>
  readonly now: () => number
  nonces: number
  runs: number
  /** The number of steps that must not run again, and have run. */
  steps: number
}

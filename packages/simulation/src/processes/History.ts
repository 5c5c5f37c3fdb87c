/** The record of a simulation of a fleet. The laws judge nothing else. */
import type { Command } from "./Script.ts"

/** The outcome of a write that carries an epoch. `Ended`: the stream of an event has ended. */
export type Write = "Done" | "Superseded" | "Ended"

/**
 * An event of a process. Those of stores are recorded when they take effect, in the order in which they do.
 *
 * - `Ran`, `RanEnded`: the handler of a call has started, or has ended. `nonce` is the number of the call.
 * - `Renewed`, `Retired`, `Located`, `Claimed`, `Released`, `Removed`: an operation of the store of owners.
 *   `claimed` is the epoch that the store returned.
 * - `Stored`: a write of the store of sessions.
 * - `Appended`, `StreamEnded`, `TookOver`, `Dropped`: writes of the store of events. `answers` is the id of
 *   the request whose final response an event is.
 * - `Charged`, `Settled`: the step of a call that happens once has run, or its handler has the result of the step.
 * - `TaskStored`: a write of the store of tasks. `nonce` is the number of the call, `before` the epoch that the task
 *   had, and `epoch` the one that it has then. `isEnded`: it does not go on. `hasCharge`: the step is stored.
 *   `answers`: the number of stored answers.
 * - `StoreFailed`: an operation of a store was disturbed.
 * - `Served`: a request of a client has arrived. `hop` counts the processes that it has passed before.
 * - `Forwarded`, `ForwardEnded`: the process has sent such a request to another one, and has the response or an error.
 *   `isUnprocessed`: there was no connection, or the other process does not own the session.
 * - `Closed`: the process has ended in order. `living` is the number of its fibers that are left.
 */
export type ProcessEvent =
  | { readonly _tag: "Started" | "Killed" | "Paused" | "Resumed" | "Stopping" | "ClockSet" }
  | { readonly _tag: "Closed"; readonly living: number }
  | { readonly _tag: "Ran"; readonly nonce: number }
  | { readonly _tag: "RanEnded"; readonly nonce: number; readonly outcome: "done" | "failed" | "interrupted" }
  | { readonly _tag: "Renewed"; readonly millis: number; readonly stood: boolean }
  | { readonly _tag: "Retired" }
  | {
    readonly _tag: "Claimed"
    readonly session: string
    readonly epoch: number
    readonly millis: number
    readonly claimed: number | undefined
  }
  | { readonly _tag: "Released" | "Removed"; readonly session: string; readonly epoch: number }
  | { readonly _tag: "Located"; readonly session: string; readonly place: Place }
  | {
    readonly _tag: "Stored"
    readonly operation: "create" | "save" | "touch" | "remove"
    readonly session: string
    readonly epoch: number
    readonly outcome: Write
  }
  | {
    readonly _tag: "Appended"
    readonly session: string
    readonly stream: string
    readonly epoch: number
    readonly event: string | undefined
    readonly answers: number | undefined
    readonly outcome: Write
  }
  | {
    readonly _tag: "StreamEnded"
    readonly session: string
    readonly stream: string
    readonly epoch: number
    readonly outcome: Write
  }
  | {
    readonly _tag: "TookOver" | "Dropped"
    readonly session: string
    readonly epoch: number
    readonly outcome: Write
  }
  | { readonly _tag: "Charged" | "Settled"; readonly nonce: number }
  | {
    readonly _tag: "TaskStored"
    readonly operation: "create" | "replace" | "remove"
    readonly nonce: number
    readonly before: number | undefined
    readonly epoch: number | undefined
    readonly isEnded: boolean
    readonly runs: number
    readonly hasCharge: boolean
    readonly answers: number
  }
  | {
    readonly _tag: "StoreFailed"
    readonly kind: StoreKind
    readonly operation: string
    readonly isOutage: boolean
  }
  | { readonly _tag: "Served"; readonly exchange: number; readonly hop: number }
  | { readonly _tag: "Forwarded"; readonly exchange: number }
  | { readonly _tag: "ForwardEnded"; readonly exchange: number; readonly isUnprocessed: boolean }
  | { readonly _tag: "Logged"; readonly text: string }

/** The place of a session, as the store of owners returns it: the number of its owner, if it has one. */
export type Place = "Unknown" | "Free" | number | undefined

/** The stores. */
export type StoreKind = "owners" | "sessions" | "events" | "tasks"

/** The kinds of the requests that a client sends. */
export type RequestKind =
  | "initialize"
  | "initialized"
  | "call"
  | "answer"
  | "cancel"
  | "listen"
  | "resume"
  | "subscribe"
  | "setLevel"
  | "delete"
  | "probe"

/**
 * An event of a client.
 *
 * - `Sent`: it has sent a request to the process in a slot. `id` is that of the JSON-RPC request; `nonce` that of the
 *   call. `isIntruder`: it uses the session of the other client.
 * - `Responded`: the response has begun. `Received`: a message has arrived in it; `event` is its event id.
 * - `Completed`, `Broke`: the response is complete, or its connection has broken.
 */
export type ClientEvent =
  | {
    readonly _tag: "Sent"
    readonly exchange: number
    readonly kind: RequestKind
    readonly session: string | undefined
    readonly slot: number
    readonly id?: number | undefined
    readonly nonce?: number | undefined
    readonly detail?: string | undefined
    readonly isIntruder: boolean
  }
  | { readonly _tag: "Responded"; readonly exchange: number; readonly status: number; readonly retryAfter: boolean }
  | {
    readonly _tag: "Received"
    readonly exchange: number
    readonly session: string | undefined
    readonly event: string | undefined
    readonly message: Message
  }
  | { readonly _tag: "Completed"; readonly exchange: number }
  | { readonly _tag: "Broke"; readonly exchange: number; readonly isRefused: boolean }

/** A message that a client has received, as far as the laws need it. */
export type Message =
  | { readonly _tag: "Result"; readonly id: number; readonly answer?: string | undefined }
  | { readonly _tag: "Error"; readonly id: number | undefined; readonly code: number }
  | { readonly _tag: "Question"; readonly id: string; readonly nonce: number }
  | { readonly _tag: "Cancelled"; readonly id: string }
  | { readonly _tag: "Progress"; readonly nonce: number; readonly progress: number }
  | { readonly _tag: "Log" | "Update"; readonly nonce: number }
  | { readonly _tag: "Other"; readonly method: string }

/**
 * An event of the world.
 *
 * - `Calm`: the faults have stopped, and time has passed since then. `Rested`: the clients have resumed and answered
 *   everything, and time has passed again; `calls` are the numbers of the calls that are stored. `Deleted`: each client
 *   has ended its session. `Ended`: everything is closed; `exchanges` is the number of connections that are left,
 *   `left` what the stores have of sessions, and `calls` as before.
 * - `Unfinished`: a request has no end, or its stream cannot be resumed.
 */
export type WorldEvent =
  | { readonly _tag: "Commanded"; readonly command: Command }
  | { readonly _tag: "OutageBegan" | "OutageEnded" | "Calm" | "Deleting" | "Deleted" | "Closing" }
  | { readonly _tag: "Rested"; readonly calls: ReadonlyArray<number> }
  | { readonly _tag: "Unfinished"; readonly session: string; readonly id: number; readonly why: string }
  | {
    readonly _tag: "Ended"
    readonly exchanges: number
    readonly left: ReadonlyArray<Left>
    readonly calls: ReadonlyArray<number>
  }

/** The part of a session that the stores still have. */
export interface Left {
  readonly session: string
  readonly what: "an owner" | "the entry" | "a stream"
}

/** An event, and its time in milliseconds. */
export type Event =
  & { readonly at: number }
  & (
    | (ProcessEvent & { readonly process: number })
    | (ClientEvent & { readonly client: number })
    | WorldEvent
  )

/** A history. */
export interface History {
  readonly events: ReadonlyArray<Event>
}

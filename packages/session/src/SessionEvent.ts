/**
 * Events of a session, for logs, tests and debugging. Nothing depends on them.
 */
import type { CloseReason, JsonRpc, RequestId } from "@effect-mcp/protocol"
import type * as Cause from "effect/Cause"
import type { FrameError, TransportEvent } from "./Transport.ts"
import type { TransportError } from "./TransportError.ts"

/**
 * Why progress was not delivered.
 *
 * - `UnknownToken`: no request in flight asked for it, or it has ended.
 * - `Overflow`: the consumer lags; the oldest undelivered step made room.
 * - `NotIncreasing`: the value did not grow (PRG-03).
 * - `TooSoon`: a handler reported more often than the session's limit allows (PRG-06).
 * - `ExchangeEnded`: a handler reported after its request had ended (PRG-05).
 *
 * @category models
 */
export type ProgressDropReason = "UnknownToken" | "Overflow" | "NotIncreasing" | "TooSoon" | "ExchangeEnded"

/**
 * Something that happened in a session.
 *
 * - `StateChanged`: the handshake machine moved.
 * - `BadFrame`: bytes that are no frame; a client skips them, a server answers −32700.
 * - `Malformed`: JSON that is no message. If it answers a request of this side, that request fails with
 *   `MalformedResponse`.
 * - `Tolerated`: the peer broke a rule, and what it meant was read all the same; `method` is that of the request it
 *   answered, where that is known.
 * - `UnmatchedResponse`: no exchange waits for it. `Late` ones come after a cancellation or a deadline, `Duplicate`
 *   ones after a first response, `Unknown` ones were never asked for, and `NoId` ones say that the peer could not read
 *   one of our requests.
 * - `Rejected`: a request was answered with an error before any handler saw it.
 * - `NotificationIgnored`: a notification had no effect; `problem` says why.
 * - `CancelIgnored`: a cancellation named no request in flight. `Cancelled`: one did, and its handler was interrupted.
 * - `Abandoned`: the stream of a request has no reader left; its handler was interrupted.
 * - `CancelSent`: a request of this side was given up, and the peer was told.
 * - `ProgressDropped`: a step of progress went nowhere.
 * - `HandlerFailed`: a handler died; the peer was told no more than "Internal error".
 * - `SendFailed`: one message could not be sent.
 * - `ProfileTrimmed`: the peer's info takes more memory than the session keeps (`Limits.maxProfileBytes`). Its icons,
 *   and members that this library does not know, were dropped.
 * - `OutputSchemaDropped`: there are more, or larger, output schemas than a client remembers; the results of this tool
 *   are not checked until it is listed again.
 * - `SessionStoreFailed`: the host's `SessionStore` failed, threw or did not answer in time. After a failed `save` the
 *   session goes on, but cannot be restored. After a failed `touch` it may count as unused for longer than it is. After
 *   a failed `remove`, which comes after `Closed`, this host does not restore the session and tries to remove it again,
 *   but another host may restore it.
 * - `Closed`: the session has ended; `unfinished` counts, by method, the handlers that could not be stopped in time.
 *
 * What a transport reports is among them.
 *
 * @category models
 */
export type SessionEvent =
  | TransportEvent
  | { readonly _tag: "StateChanged"; readonly from: string; readonly to: string }
  | { readonly _tag: "BadFrame"; readonly error: FrameError }
  | { readonly _tag: "Malformed"; readonly problem: string }
  | { readonly _tag: "Tolerated"; readonly method: string | undefined; readonly problem: string }
  | {
    readonly _tag: "UnmatchedResponse"
    readonly kind: "Late" | "Duplicate" | "Unknown" | "NoId"
    readonly response: JsonRpc.Response
  }
  | { readonly _tag: "Rejected"; readonly method: string; readonly id: RequestId.RequestId; readonly code: number }
  | { readonly _tag: "NotificationIgnored"; readonly method: string; readonly problem: string }
  | { readonly _tag: "CancelIgnored"; readonly id: RequestId.RequestId | undefined }
  | {
    readonly _tag: "Cancelled"
    readonly method: string
    readonly id: RequestId.RequestId
    readonly reason: string | undefined
  }
  | { readonly _tag: "Abandoned"; readonly method: string; readonly id: RequestId.RequestId }
  | { readonly _tag: "CancelSent"; readonly method: string; readonly id: RequestId.RequestId; readonly reason: string }
  | { readonly _tag: "ProgressDropped"; readonly reason: ProgressDropReason }
  | { readonly _tag: "HandlerFailed"; readonly method: string; readonly cause: Cause.Cause<unknown> }
  | { readonly _tag: "SendFailed"; readonly method: string | undefined; readonly error: TransportError }
  | { readonly _tag: "ProfileTrimmed"; readonly limitBytes: number }
  | { readonly _tag: "OutputSchemaDropped"; readonly tool: string }
  | {
    readonly _tag: "SessionStoreFailed"
    readonly operation: "save" | "touch" | "remove"
    readonly cause: Cause.Cause<unknown>
  }
  | {
    readonly _tag: "Closed"
    readonly reason: CloseReason.CloseReason
    readonly unfinished: ReadonlyArray<{ readonly method: string; readonly count: number }>
  }

/**
 * Events of a session, for logs, tests and debugging. The library itself does not use them.
 *
 * @stability unstable
 */
import type { CloseReason, JsonRpc, Meta, RequestId } from "@effect-mcp/protocol"
import type * as Cause from "effect/Cause"
import type { FrameError, TransportEvent } from "./Transport.ts"
import type { UnsupportedSchemaError } from "./UnsupportedSchemaError.ts"

/**
 * The reasons why a step of progress was not delivered.
 *
 * - `UnknownToken`: the progress token belongs to no request in flight of the receiver.
 * - `Overflow`: the consumer is slow (`limits.maxProgressSteps`). The oldest waiting step was dropped.
 * - `NotIncreasing`: the value is not greater than the value of the step before (PRG-03).
 * - `TooSoon`: a handler reported more often than `limits.progressInterval` allows (PRG-06).
 * - `ExchangeEnded`: a handler reported after its request had ended (PRG-05).
 *
 * @category models
 */
export type ProgressDropReason = "UnknownToken" | "Overflow" | "NotIncreasing" | "TooSoon" | "ExchangeEnded"

/**
 * An event of a session.
 *
 * The state and the end:
 *
 * - `StateChanged`: the handshake machine took a step.
 * - `ProfileTrimmed`: the peer's info takes more memory than `limits.maxProfileBytes`. Its icons, and members that this
 *   library does not know, were dropped.
 * - `Closed`: the session has ended for this `reason`. `unfinished` counts by method the handlers that did not end in
 *   time after their interruption.
 * - `FellBack`: the server seems to serve no revision without a handshake, so the client continues with `initialize`.
 *   `problem` states how it answered `server/discover`. `isGuess` says that it was silent, or that its error
 *   had no id: such a server may still turn out to serve one.
 * - `StrayText`: a server has sent a text that is no message, before its session was established. `text` is its
 *   beginning. Only the first one is reported.
 * - `AuthorizationAwaited`: a person has to authorize the client. `since` is the time at which the wait began, in
 *   milliseconds since 1970. `url` is the page to visit, and `code` the code to enter there, if they are known.
 *   `isQueued` states that the authorization at another server is shown first. The event follows again when one of
 *   these changes. A client that connects waits without a deadline, and then connects anew. A call waits until its own
 *   deadline.
 *
 * Frames:
 *
 * - `BadFrame`: the bytes are no frame. A client skips them. A server replies −32700.
 * - `Malformed`: the JSON is no JSON-RPC message; `problem` states why. If it has the id of a request of this side,
 *   that request fails with `MalformedResponse`.
 * - `Tolerated`: the message breaks a rule but has one possible meaning, and was processed. `method` is the method of
 *   the request that it completes, if that is known.
 *
 * Requests of this side:
 *
 * - `CancelSent`: the request timed out or its caller was interrupted, and a cancellation was sent to the peer.
 * - `UnmatchedResponse`: no request waits for the response. `Late`: the request was cancelled or timed out.
 *   `Duplicate`: the request has had its response. `Unknown`: this side sent no request with this id. `NoId`: the peer
 *   could not read a message of this side.
 * - `OutputSchemaDropped`: there are more, or larger, output schemas than the client keeps (`limits.maxOutputSchemas`).
 *   Results of this tool are not checked until it is listed again.
 * - `OutputSchemaPartlyChecked`: the validator does not support a keyword of the output schema, as `error` states.
 *   Results of this tool are checked against the rest of the schema. Reported at the first call of the tool after its
 *   schema was listed.
 *
 * Requests of the peer:
 *
 * - `Rejected`: the request got an error with this `code` before it reached a handler.
 * - `RequestIgnored`: the server sent a request in a revision in which it must not (2026-07-28). It got no response.
 * - `Cancelled`: the peer cancelled the request, and its handler was interrupted.
 * - `CancelIgnored`: the peer sent a cancellation of no request in flight.
 * - `Abandoned`: the stream of the request has no reader left, or the server has lost its session. Its handler was
 *   interrupted.
 * - `HandlerFailed`: the handler died with this `cause`. The peer got −32603 "Internal error" without the cause. If the
 *   answer of the handler does not fit the question of the server, it got −31011 with the problem.
 *
 * Notifications:
 *
 * - `NotificationIgnored`: the notification had no effect; `problem` states why.
 * - `NotListening`: the server's stream of notifications (2026-07-28) has ended, could not be opened, or is not
 *   acknowledged in time; `problem` states why. Unless `isFinal`, the client opens it again or waits for it. Everything
 *   that it had served, and each list that was read without it, then counts as changed.
 * - `ProgressDropped`: a step of progress was not delivered. `method` is the method of its request, if that is known.
 *
 * The store of a host:
 *
 * - `SessionStoreFailed`: an operation of the `SessionStore` failed, threw or timed out. After a failed `save` the
 *   session continues but cannot be restored. After a failed `touch` its stored last use is too old. After a failed
 *   `remove`, which follows `Closed`, this host does not restore the session and tries to remove it again, but another
 *   host can restore it.
 *
 * The events of the transport, see `TransportEvent`, are also events of the session.
 *
 * @category models
 */
export type SessionEvent =
  | TransportEvent
  | { readonly _tag: "StateChanged"; readonly from: string; readonly to: string }
  | { readonly _tag: "FellBack"; readonly problem: string; readonly isGuess?: boolean }
  | { readonly _tag: "StrayText"; readonly text: string }
  | {
    readonly _tag: "AuthorizationAwaited"
    readonly url: string | undefined
    readonly code: string | undefined
    readonly since: number
    readonly isQueued?: true
  }
  | { readonly _tag: "BadFrame"; readonly error: FrameError }
  | { readonly _tag: "Malformed"; readonly problem: string }
  | { readonly _tag: "Tolerated"; readonly method: string | undefined; readonly problem: string }
  | {
    readonly _tag: "UnmatchedResponse"
    readonly kind: "Late" | "Duplicate" | "Unknown" | "NoId"
    readonly response: JsonRpc.Response
  }
  | { readonly _tag: "Rejected"; readonly method: string; readonly id: RequestId.RequestId; readonly code: number }
  | { readonly _tag: "RequestIgnored"; readonly method: string }
  | { readonly _tag: "NotListening"; readonly problem: string; readonly isFinal: boolean }
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
  | {
    readonly _tag: "ProgressDropped"
    readonly method: string | undefined
    readonly progressToken: Meta.ProgressToken
    readonly reason: ProgressDropReason
  }
  | { readonly _tag: "HandlerFailed"; readonly method: string; readonly cause: Cause.Cause<unknown> }
  | { readonly _tag: "ProfileTrimmed"; readonly limitBytes: number }
  | { readonly _tag: "OutputSchemaDropped"; readonly tool: string }
  | { readonly _tag: "OutputSchemaPartlyChecked"; readonly tool: string; readonly error: UnsupportedSchemaError }
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

/**
 * Errors between a session and its peer, below the protocol.
 */
import { CloseReason } from "@effect-mcp/protocol"
import * as Data from "effect/Data"
import * as Formatter from "effect/Formatter"

/**
 * The kinds of {@link TransportError}.
 *
 * - `InUse`: this transport already carries a session, and can carry only one.
 * - `ConnectFailed`: the peer `target` could not be reached or started.
 * - `ReadFailed`, `WriteFailed`: the connection broke while it was in use.
 * - `Unserializable`: JSON cannot carry the message (a `bigint`, a cycle). Only this message is lost.
 * - `NoRoute`: no open stream to the peer may carry this message. Only this message is lost.
 * - `StreamStalled`: the stream of this message took no bytes for so long, and was closed. Other streams go on.
 * - `ExchangeEnded`: the stream of one request ended without a response, or was lost. Other requests go on. The peer
 *   may have carried the request out. `cause` is the reason, if it is known, such as an answer that the peer has
 *   failed.
 * - `Rejected`: the peer rejected this message with this HTTP status, and did not carry it out.
 * - `Unauthenticated`: the peer requires authentication; `challenge` is its `WWW-Authenticate`.
 * - `SessionLost`: the peer no longer knows this session, and no other can replace it.
 * - `PeerEnded`: the peer has ended; a child process with this exit.
 *
 * @category models
 */
export type TransportErrorReason =
  | { readonly _tag: "InUse" }
  | { readonly _tag: "ConnectFailed"; readonly target: string; readonly cause: unknown }
  | { readonly _tag: "ReadFailed"; readonly cause: unknown }
  | { readonly _tag: "WriteFailed"; readonly cause: unknown }
  | { readonly _tag: "Unserializable"; readonly cause: unknown }
  | { readonly _tag: "NoRoute"; readonly method: string | undefined }
  | { readonly _tag: "StreamStalled"; readonly afterMillis: number }
  | { readonly _tag: "ExchangeEnded"; readonly cause?: unknown }
  | {
    readonly _tag: "Rejected"
    readonly status: number
    /** The explanation of the peer, or the problem with its answer. */
    readonly problem: string
    /** The time after which the peer allows a retry. */
    readonly retryAfterMillis: number | undefined
  }
  | { readonly _tag: "Unauthenticated"; readonly challenge: string | undefined }
  | { readonly _tag: "SessionLost"; readonly problem: string }
  | { readonly _tag: "PeerEnded"; readonly exit: CloseReason.ProcessExit | undefined }

const words = (cause: unknown): string =>
  cause instanceof Error ? cause.message : typeof cause === "string" ? cause : Formatter.format(cause)

const describe = (reason: TransportErrorReason): string => {
  switch (reason._tag) {
    case "InUse":
      return "this transport already carries a session"
    case "ConnectFailed":
      return `could not connect to ${reason.target}: ${words(reason.cause)}`
    case "ReadFailed":
      return `reading from the peer failed: ${words(reason.cause)}`
    case "WriteFailed":
      return `writing to the peer failed: ${words(reason.cause)}`
    case "Unserializable":
      return `the message is not JSON: ${words(reason.cause)}`
    case "NoRoute":
      return `no open stream may carry ${reason.method ?? "this response"}`
    case "StreamStalled":
      return `the stream took nothing for ${reason.afterMillis} ms and was given up`
    case "ExchangeEnded":
      return reason.cause === undefined
        ? "the peer ended the request's stream without a response"
        : `the request's stream was lost: ${words(reason.cause)}`
    case "Rejected":
      return `the peer refused the message with status ${reason.status}: ${reason.problem}`
    case "Unauthenticated":
      return reason.challenge === undefined
        ? "the peer does not know who asks"
        : `the peer does not know who asks: ${reason.challenge}`
    case "SessionLost":
      return `the peer knows nothing of this session any more: ${reason.problem}`
    case "PeerEnded":
      return CloseReason.describe(reason)
  }
}

/**
 * The failure of a transport. `reason` has its kind; recover from one kind with `Effect.catchReason`.
 *
 * @example
 * ```ts
 * import { TransportError } from "@effect-mcp/session"
 *
 * export const error = new TransportError.TransportError({ reason: { _tag: "InUse" } })
 * export const message = error.message // => "this transport already carries a session"
 * ```
 *
 * @category errors
 */
export class TransportError extends Data.TaggedError("TransportError")<{
  readonly reason: TransportErrorReason
}> {
  override get message(): string {
    return describe(this.reason)
  }
}

/**
 * Makes a {@link TransportError} of this kind.
 *
 * @example
 * ```ts
 * import { TransportError } from "@effect-mcp/session"
 *
 * export const message = TransportError.make({
 *   _tag: "ConnectFailed",
 *   target: "wss://example.com/mcp",
 *   cause: "connection refused"
 * }).message // => "could not connect to wss://example.com/mcp: connection refused"
 * ```
 *
 * @category constructors
 */
export const make = (reason: TransportErrorReason): TransportError => new TransportError({ reason })

/**
 * What can go wrong between a session and its peer, below the protocol.
 *
 * @since 0.1.0
 */
import { CloseReason } from "@effect-mcp/protocol"
import * as Data from "effect/Data"
import * as Formatter from "effect/Formatter"

/**
 * The kinds of {@link TransportError}, each with what a person needs to act.
 *
 * - `InUse`: this transport already carries a session, and can carry only one.
 * - `ConnectFailed`: the peer could not be reached or started; `target` says what was tried.
 * - `ReadFailed`, `WriteFailed`: the connection broke while it was in use.
 * - `Unserializable`: the message is not JSON (a `bigint`, a cycle); only this message is lost.
 * - `NoRoute`: no stream to the peer is open that may carry this message; only this message is lost.
 * - `ExchangeEnded`: the peer ended the stream of one request without a response; only that request is lost.
 * - `PeerEnded`: the peer is gone, for a child process with how it exited.
 *
 * @category models
 * @since 0.1.0
 */
export type TransportErrorReason =
  | { readonly _tag: "InUse" }
  | { readonly _tag: "ConnectFailed"; readonly target: string; readonly cause: unknown }
  | { readonly _tag: "ReadFailed"; readonly cause: unknown }
  | { readonly _tag: "WriteFailed"; readonly cause: unknown }
  | { readonly _tag: "Unserializable"; readonly cause: unknown }
  | { readonly _tag: "NoRoute"; readonly method: string | undefined }
  | { readonly _tag: "ExchangeEnded" }
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
    case "ExchangeEnded":
      return "the peer ended the request's stream without a response"
    case "PeerEnded":
      return CloseReason.describe(reason)
  }
}

/**
 * A transport failed. `reason` says how; recover from one kind with `Effect.catchReason`.
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
 * @since 0.1.0
 */
export class TransportError extends Data.TaggedError("TransportError")<{
  readonly reason: TransportErrorReason
}> {
  override get message(): string {
    return describe(this.reason)
  }
}

/**
 * A {@link TransportError} of this kind.
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
 * @since 0.1.0
 */
export const make = (reason: TransportErrorReason): TransportError => new TransportError({ reason })

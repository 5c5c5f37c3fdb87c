/**
 * Why a session ended.
 *
 * @since 0.1.0
 */
import * as Formatter from "effect/Formatter"

/**
 * How a peer that is a child process ended: its exit code or the signal that ended it, and the last lines it wrote to
 * its standard error.
 *
 * @category models
 * @since 0.1.0
 */
export interface ProcessExit {
  readonly exitCode: number | undefined
  readonly signal: string | undefined
  readonly stderr: ReadonlyArray<string>
}

/**
 * Why a session ended. The first reason stays: whatever happens while a session closes does not change it.
 *
 * - `Requested`: this side closed it, by leaving its scope or by `close`.
 * - `PeerEnded`: the peer's side of the transport came to its end; for a child process with how it exited.
 * - `PeerStalled`: the peer took no bytes for the write timeout.
 * - `RepliesOverflow`: the peer went on asking and did not read its replies. So many were waiting, which took so many
 *   bytes of memory. `limit` is the limit that was reached: `maxOutgoingReplies` or `maxOutgoingBytes` of the session,
 *   or `MemoryBudget`, of the process. For `MemoryBudget`, this session left more unread than any other, and the bytes
 *   are those of all messages that waited.
 * - `TransportFailed`: the transport broke; `cause` is its error.
 * - `HandshakeFailed`: the two sides did not come to terms.
 * - `HandshakeTimeout`: the handshake did not finish in time.
 * - `Expired`: whoever keeps this side's sessions ended it, since nobody had used it for so long, or it was that old.
 * - `Evicted`: the host of this side's sessions was full, and ended it to make room for another session. It had been
 *   unused for so long (`idle`), or its handshake had not been finished for so long (`handshake`), or it had been
 *   connected for so long, and its client had more than half of the host's places (`held`).
 *
 * @category models
 * @since 0.1.0
 */
export type CloseReason =
  | { readonly _tag: "Requested" }
  | { readonly _tag: "PeerEnded"; readonly exit: ProcessExit | undefined }
  | { readonly _tag: "PeerStalled"; readonly afterMillis: number }
  | {
    readonly _tag: "RepliesOverflow"
    readonly waiting: number
    readonly bytes: number
    readonly limit: "maxOutgoingReplies" | "maxOutgoingBytes" | "MemoryBudget"
  }
  | { readonly _tag: "TransportFailed"; readonly cause: unknown }
  | { readonly _tag: "HandshakeFailed"; readonly problem: string }
  | { readonly _tag: "HandshakeTimeout"; readonly afterMillis: number }
  | { readonly _tag: "Expired"; readonly afterMillis: number; readonly of: "idle" | "age" }
  | { readonly _tag: "Evicted"; readonly afterMillis: number; readonly of: "handshake" | "idle" | "held" }

/**
 * The reason when this side closed the session itself.
 *
 * @category constants
 * @since 0.1.0
 */
export const requested: CloseReason = { _tag: "Requested" }

/** `String` throws for an object without a prototype. */
const inWords = (cause: unknown): string => typeof cause === "string" ? cause : Formatter.format(cause)

const describeExit = (exit: ProcessExit): string => {
  const how = exit.signal !== undefined
    ? `was ended by ${exit.signal}`
    : exit.exitCode !== undefined
    ? `exited with code ${exit.exitCode}`
    : "closed its output"
  return exit.stderr.length === 0 ? how : `${how}; its last words were:\n${exit.stderr.join("\n")}`
}

/**
 * The reason in words a person can act on.
 *
 * @example
 * ```ts
 * import { CloseReason } from "@effect-mcp/protocol"
 *
 * export const words = CloseReason.describe({
 *   _tag: "PeerEnded",
 *   exit: { exitCode: 1, signal: undefined, stderr: ["no such file: notes.db"] }
 * })
 * // => "the peer exited with code 1; its last words were:\nno such file: notes.db"
 * ```
 *
 * @category formatting
 * @since 0.1.0
 */
export const describe = (reason: CloseReason): string => {
  switch (reason._tag) {
    case "Requested":
      return "closed by this side"
    case "PeerEnded":
      return reason.exit === undefined ? "the peer ended the connection" : `the peer ${describeExit(reason.exit)}`
    case "PeerStalled":
      return `the peer took no bytes for ${reason.afterMillis} ms`
    case "RepliesOverflow":
      return reason.limit === "MemoryBudget"
        ? `the process ran short of memory while this peer left most of it unread: ${reason.bytes} bytes, with ` +
          `${reason.waiting} replies (limit: MemoryBudget)`
        : `the peer went on asking while ${reason.waiting} replies of ${reason.bytes} bytes waited for it (limit: ${reason.limit})`
    case "TransportFailed": {
      // Some errors have nothing to say, and neither has an empty text.
      const said = reason.cause instanceof Error ? reason.cause.message : inWords(reason.cause)
      if (said === "") return "the transport failed"
      return reason.cause instanceof Error ? said : `the transport failed: ${said}`
    }
    case "HandshakeFailed":
      return `the handshake failed: ${reason.problem}`
    case "HandshakeTimeout":
      return `the handshake did not finish within ${reason.afterMillis} ms`
    case "Expired":
      return reason.of === "idle"
        ? `expired: nobody used it for ${reason.afterMillis} ms`
        : `expired: no session lasts longer than ${reason.afterMillis} ms`
    case "Evicted":
      if (reason.of === "idle") return `evicted to make room: unused for ${reason.afterMillis} ms`
      return reason.of === "held"
        ? `evicted to make room: connected for ${reason.afterMillis} ms; its client had more than half of all places`
        : `evicted to make room: the handshake was not finished after ${reason.afterMillis} ms`
  }
}

/**
 * The reason why a session ended.
 *
 * @stability unstable
 */
import * as Formatter from "effect/Formatter"

/**
 * The end of a child process: its exit code or the signal that ended it, and the last lines of its standard error.
 *
 * @category models
 */
export interface ProcessExit {
  readonly exitCode: number | undefined
  readonly signal: string | undefined
  readonly stderr: ReadonlyArray<string>
}

/**
 * The reason why a session ended. The first reason stays, even if others arise while the session closes.
 *
 * - `Requested`: this side closed the session, with `close` or by closing its scope. `isKept`: a host that shuts down
 *   closed it, and its store keeps it, so that it can go on elsewhere. The outcome of a request that was interrupted is
 *   unknown then.
 * - `PeerEnded`: the peer ended its side of the transport. For a child process, `exit` holds its exit code or signal.
 * - `PeerStalled`: the peer read no bytes within the write timeout.
 * - `RepliesOverflow`: the peer kept sending requests and read no replies. `waiting` replies held `bytes` bytes
 *   of memory. `limit` is the exceeded limit: `maxOutgoingReplies` or `maxOutgoingBytes` of the session, or
 *   `MemoryBudget` of the process. For `MemoryBudget`, this session had more unread data than any other, and `bytes`
 *   counts all messages that waited.
 * - `TransportFailed`: the transport failed with the error `cause`.
 * - `HandshakeFailed`: the server rejected `initialize`, or its result was invalid or named an unsupported revision.
 * - `HandshakeTimeout`: the handshake did not finish in time.
 * - `Expired`: the host ended the session because it was unused for too long (`idle`), too old (`age`), or because the
 *   identity of its connection has expired (`identity`).
 * - `Evicted`: the host was full, and ended the session to make room for another. It was unused (`idle`), its
 *   handshake was unfinished (`handshake`), or its client held more than half of the host's slots (`held`).
 * - `Superseded`: another process has the session now. Its copy here closed at once, and nothing was deleted.
 *
 * @category models
 */
export type CloseReason =
  | { readonly _tag: "Requested"; readonly isKept?: true }
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
  | { readonly _tag: "Expired"; readonly afterMillis: number; readonly of: "idle" | "age" | "identity" }
  | { readonly _tag: "Evicted"; readonly afterMillis: number; readonly of: "handshake" | "idle" | "held" }
  | { readonly _tag: "Superseded" }

/**
 * The reason of a session that this side closed.
 *
 * @category constants
 */
export const requested: CloseReason = { _tag: "Requested" }

/**
 * The reason of a session that a host closed because it shuts down, while its store keeps the session.
 *
 * @category constants
 */
export const unloaded: CloseReason = { _tag: "Requested", isKept: true }

/**
 * The reason of a session that another process has now.
 *
 * @category constants
 */
export const superseded: CloseReason = { _tag: "Superseded" }

/**
 * Returns whether a session that has ended for this reason goes on at another process.
 *
 * @example
 * ```ts
 * import { CloseReason } from "@effect-mcp/protocol"
 *
 * export const goesOn = CloseReason.goesOnElsewhere(CloseReason.unloaded) // => true
 * ```
 *
 * @category predicates
 */
export const goesOnElsewhere = (reason: CloseReason): boolean =>
  reason._tag === "Superseded" || (reason._tag === "Requested" && reason.isKept === true)

/** Formats a cause. `String` would throw for an object without a prototype. */
const formatCause = (cause: unknown): string => typeof cause === "string" ? cause : Formatter.format(cause)

const describeExit = (exit: ProcessExit): string => {
  const end = exit.signal !== undefined
    ? `was killed by ${exit.signal}`
    : exit.exitCode !== undefined
    ? `exited with code ${exit.exitCode}`
    : "closed its output"
  return exit.stderr.length === 0 ? end : `${end}; last lines of stderr:\n${exit.stderr.join("\n")}`
}

/**
 * Returns the reason as a message for operators.
 *
 * @example
 * ```ts
 * import { CloseReason } from "@effect-mcp/protocol"
 *
 * export const message = CloseReason.describe({
 *   _tag: "PeerEnded",
 *   exit: { exitCode: 1, signal: undefined, stderr: ["no such file: notes.db"] }
 * })
 * // => "the peer exited with code 1; last lines of stderr:\nno such file: notes.db"
 * ```
 *
 * @category formatting
 */
export const describe = (reason: CloseReason): string => {
  switch (reason._tag) {
    case "Requested":
      return "closed by this side"
    case "PeerEnded":
      return reason.exit === undefined ? "the peer ended the connection" : `the peer ${describeExit(reason.exit)}`
    case "PeerStalled":
      return `the peer read no bytes for ${reason.afterMillis} ms`
    case "RepliesOverflow":
      return reason.limit === "MemoryBudget"
        ? `the process ran short of memory while this peer left most of it unread: ${reason.bytes} bytes, with ` +
          `${reason.waiting} replies (limit: MemoryBudget)`
        : `the peer kept sending requests while ${reason.waiting} replies of ${reason.bytes} bytes waited for it ` +
          `(limit: ${reason.limit})`
    case "TransportFailed": {
      // Some errors have an empty message.
      const message = reason.cause instanceof Error ? reason.cause.message : formatCause(reason.cause)
      if (message === "") return "the transport failed"
      return reason.cause instanceof Error ? message : `the transport failed: ${message}`
    }
    case "HandshakeFailed":
      return `the handshake failed: ${reason.problem}`
    case "HandshakeTimeout":
      return `the handshake did not finish within ${reason.afterMillis} ms`
    case "Expired":
      if (reason.of === "idle") return `expired: unused for ${reason.afterMillis} ms`
      return reason.of === "age"
        ? `expired: open for ${reason.afterMillis} ms, the maximum age`
        : `expired: open for ${reason.afterMillis} ms, until the identity of its client has expired`
    case "Evicted":
      if (reason.of === "idle") return `evicted to make room: unused for ${reason.afterMillis} ms`
      return reason.of === "held"
        ? `evicted to make room: connected for ${reason.afterMillis} ms; its client held more than half of all slots`
        : `evicted to make room: the handshake was not finished after ${reason.afterMillis} ms`
    case "Superseded":
      return "another process has the session now"
  }
}

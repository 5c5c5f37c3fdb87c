/**
 * Why a client did not come to terms with a server.
 */
import { CloseReason, type McpError } from "@effect-mcp/protocol"
import * as Data from "effect/Data"
import type { TransportError } from "./TransportError.ts"

/**
 * The kinds of {@link HandshakeError}.
 *
 * - `ConnectFailed`: there was no connection to shake hands over.
 * - `Rejected`: the server answered `initialize` with an error.
 * - `UnsupportedRevision`: the server chose a revision this client does not speak (INIT-06).
 * - `InvalidResult`: the server's answer does not fit; `problem` names the first mismatch.
 * - `Timeout`: no answer came in time.
 * - `Closed`: the connection ended first; for a child process the reason says how it exited and what it wrote last.
 *
 * @category models
 */
export type HandshakeErrorReason =
  | { readonly _tag: "ConnectFailed"; readonly error: TransportError }
  | { readonly _tag: "Rejected"; readonly error: McpError.McpError }
  | { readonly _tag: "UnsupportedRevision"; readonly chosen: string; readonly supported: ReadonlyArray<string> }
  | { readonly _tag: "InvalidResult"; readonly problem: string }
  | { readonly _tag: "Timeout"; readonly afterMillis: number }
  | { readonly _tag: "Closed"; readonly reason: CloseReason.CloseReason }

/**
 * The kind in words.
 *
 * @example
 * ```ts
 * import { HandshakeError } from "@effect-mcp/session"
 *
 * export const words = HandshakeError.describe({
 *   _tag: "UnsupportedRevision",
 *   chosen: "1999-01-01",
 *   supported: ["2025-06-18", "2025-11-25"]
 * }) // => "the server chose revision 1999-01-01, this client speaks 2025-06-18, 2025-11-25"
 * ```
 *
 * @category formatting
 */
export const describe = (reason: HandshakeErrorReason): string => {
  switch (reason._tag) {
    case "ConnectFailed":
      return reason.error.message
    case "Rejected":
      return `the server refused with error ${reason.error.code}: ${reason.error.message}`
    case "UnsupportedRevision":
      return `the server chose revision ${reason.chosen}, this client speaks ${reason.supported.join(", ")}`
    case "InvalidResult":
      return `the server's answer does not fit: ${reason.problem}`
    case "Timeout":
      return `the server did not answer within ${reason.afterMillis} ms`
    case "Closed":
      return CloseReason.describe(reason.reason)
  }
}

/**
 * The handshake failed; the connection has been closed. `reason` says why; recover from one kind with `Effect.catchReason`.
 *
 * @example
 * ```ts
 * import { ClientSession, ServerSession } from "@effect-mcp/session"
 * import * as Effect from "effect/Effect"
 *
 * const info = { name: "example", version: "1.0.0" }
 * const server = ServerSession.layerInProcess({}, { info, revisions: ["2025-11-25"] })
 *
 * export const greeting = ClientSession.make({ info, revisions: ["2024-11-05"] }).pipe(
 *   Effect.as("hello"),
 *   Effect.catchReason("HandshakeError", "UnsupportedRevision", ({ chosen }) => Effect.succeed(`learn ${chosen}`)),
 *   Effect.scoped,
 *   Effect.provide(server)
 * ) // => "learn 2025-11-25"
 * ```
 *
 * @category errors
 */
export class HandshakeError extends Data.TaggedError("HandshakeError")<{
  readonly reason: HandshakeErrorReason
}> {
  override get message(): string {
    return `the handshake failed: ${describe(this.reason)}`
  }
}

/**
 * A {@link HandshakeError} of this kind.
 *
 * @example
 * ```ts
 * import { HandshakeError } from "@effect-mcp/session"
 *
 * export const message = HandshakeError.make({ _tag: "Timeout", afterMillis: 30_000 }).message
 * // => "the handshake failed: the server did not answer within 30000 ms"
 * ```
 *
 * @category constructors
 */
export const make = (reason: HandshakeErrorReason): HandshakeError => new HandshakeError({ reason })

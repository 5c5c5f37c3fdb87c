/**
 * Errors of the handshake of a client.
 *
 * @stability unstable
 */
import { CloseReason, type McpError, PlainText, Revision } from "@effect-mcp/protocol"
import { Excerpt } from "@effect-mcp/protocol/internal"
import * as Data from "effect/Data"
import type { TransportError } from "./TransportError.ts"

/**
 * The kinds of {@link HandshakeError}.
 *
 * - `ConnectFailed`: the transport could not connect to the server.
 * - `Rejected`: the server replied to `initialize` with an error, or to another `method`.
 * - `UnsupportedRevision`: the server chose a revision that this client does not support (INIT-06).
 * - `NoCommonRevision`: the server named the revisions that it supports, and this client supports none of them.
 * - `LegacyServer`: the server needs a handshake, and this client supports only revisions without one. `problem` states
 *   what it did with `server/discover`.
 * - `ModernServer`: the server rejected `initialize` with an `error` of revisions without a handshake, and this client
 *   supports only revisions with one. The error does not name the revisions of the server.
 * - `InvalidResult`: the response to `initialize` is malformed, or its result does not match the schema. `problem`
 *   names the first mismatch.
 * - `Timeout`: no response to `initialize`, or to another `method`, arrived within `limits.handshakeTimeout`.
 * - `Closed`: the connection ended before the response. For a child process, `reason` has the exit code and the last
 *   lines of stderr.
 *
 * `Timeout` and `Closed` have `stray`: the texts that the server sent meanwhile, and that are no messages.
 *
 * @category models
 */
export type HandshakeErrorReason =
  | { readonly _tag: "ConnectFailed"; readonly error: TransportError }
  | { readonly _tag: "Rejected"; readonly error: McpError.McpError; readonly method?: "server/discover" }
  | { readonly _tag: "UnsupportedRevision"; readonly chosen: string; readonly supported: ReadonlyArray<string> }
  | {
    readonly _tag: "NoCommonRevision"
    readonly offered: ReadonlyArray<string>
    readonly supported: ReadonlyArray<string>
  }
  | { readonly _tag: "LegacyServer"; readonly problem: string }
  | { readonly _tag: "ModernServer"; readonly error: McpError.McpError }
  | { readonly _tag: "InvalidResult"; readonly problem: string }
  | {
    readonly _tag: "Timeout"
    readonly afterMillis: number
    readonly method?: "server/discover"
    readonly stray?: StrayTexts
  }
  | { readonly _tag: "Closed"; readonly reason: CloseReason.CloseReason; readonly stray?: StrayTexts }

/**
 * The texts that a server sent before a response, and that are no messages, as a program does that prints to its
 * standard output. `first` is the beginning of the first one, at most 200 characters, and `count` their number.
 *
 * @category models
 */
export interface StrayTexts {
  readonly first: string
  readonly count: number
  /** Whether the server is a process that the transport has started, so that the texts are its standard output. */
  readonly isPrinted?: true
}

/** The greatest length of a text of the server in a message, which is logged at each attempt to connect. */
const maxText = 1_000

const excerpt = (text: string): string => Excerpt.of(text, maxText)

const rejection = (method: string, { code, message }: McpError.McpError): string =>
  `rejected ${method} with error ${code}: ${excerpt(message)}`

/** Returns what to do about a server that supports only these revisions. */
const remedyOf = (offered: ReadonlyArray<string>): string => {
  const newest = Revision.supported.findLast((revision) => offered.includes(revision))
  return newest === undefined
    ? "update this client, or serve one of its revisions"
    : `add ${newest} to the option \`revisions\``
}

/** Returns what to do about texts that are no messages. */
const strayRemedy = (isPrinted: true | undefined): string =>
  isPrinted === true
    ? "a server over stdio must print only messages to standard output"
    : "check that the address is that of an MCP server"

const describeStray = ({ count, first, isPrinted }: StrayTexts): string =>
  `it sent ${count === 1 ? "a text that is no message" : `${count} texts that are no messages, the first of them`}: ` +
  `${PlainText.json(Excerpt.of(first, 200))}; ${strayRemedy(isPrinted)}`

/**
 * Returns the kind of the error as a message for operators.
 *
 * @example
 * ```ts
 * import { HandshakeError } from "@effect-mcp/session"
 *
 * export const words = HandshakeError.describe({
 *   _tag: "UnsupportedRevision",
 *   chosen: "1999-01-01",
 *   supported: ["2025-06-18", "2025-11-25"]
 * }) // => "the server chose revision 1999-01-01; this client supports 2025-06-18, 2025-11-25"
 * ```
 *
 * @category formatting
 */
export const describe = (reason: HandshakeErrorReason): string => {
  switch (reason._tag) {
    case "ConnectFailed":
      return reason.error.message
    case "Rejected":
      return `the server ${rejection(reason.method ?? "initialize", reason.error)}`
    case "UnsupportedRevision":
      return `the server chose revision ${Excerpt.of(reason.chosen)}; this client supports ${
        reason.supported.join(", ")
      }`
    case "NoCommonRevision":
      return `the server supports ${excerpt(reason.offered.join(", ")) || "no revision"}; ` +
        `this client supports ${reason.supported.join(", ")}; ${remedyOf(reason.offered)}`
    case "LegacyServer":
      return `the server does not serve a revision without a handshake: ${excerpt(reason.problem)}; ` +
        "add an older revision to the option `revisions`"
    case "ModernServer":
      return `the server serves only revisions without a handshake: it ${rejection("initialize", reason.error)}; ` +
        `add ${Revision.latest} to the option \`revisions\``
    case "InvalidResult":
      return `the server's response to initialize is invalid: ${excerpt(reason.problem)}`
    case "Timeout":
      return `the server did not respond to ${reason.method ?? "initialize"} within ${reason.afterMillis} ms; ` +
        (reason.stray === undefined ? "set limits.handshakeTimeout to allow more" : describeStray(reason.stray))
    case "Closed":
      return reason.stray === undefined
        ? CloseReason.describe(reason.reason)
        : `${describeStray(reason.stray)}; ${CloseReason.describe(reason.reason)}`
  }
}

/**
 * The failure of a handshake. The connection is closed before the client fails with it. `reason` has its kind; recover
 * from one kind with `Effect.catchReason`.
 *
 * @example
 * ```ts
 * import { ClientSession, ServerSession } from "@effect-mcp/session"
 * import * as Effect from "effect/Effect"
 *
 * const info = { name: "example", version: "1.0.0" }
 * const server = ServerSession.layerMemory({}, { info, revisions: ["2025-11-25"] })
 *
 * export const outcome = ClientSession.make({ info, revisions: ["2024-11-05"] }).pipe(
 *   Effect.as("connected"),
 *   Effect.catchReason("HandshakeError", "UnsupportedRevision", ({ chosen }) => Effect.succeed(`add ${chosen}`)),
 *   Effect.scoped,
 *   Effect.provide(server)
 * ) // => "add 2025-11-25"
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
 * Creates a {@link HandshakeError} of this kind.
 *
 * @example
 * ```ts
 * import { HandshakeError } from "@effect-mcp/session"
 *
 * export const message = HandshakeError.make({ _tag: "InvalidResult", problem: "no protocolVersion" }).message
 * // => "the handshake failed: the server's response to initialize is invalid: no protocolVersion"
 * ```
 *
 * @category constructors
 */
export const make = (reason: HandshakeErrorReason): HandshakeError => new HandshakeError({ reason })

/**
 * Errors of transports.
 *
 * @stability unstable
 */
import { CloseReason } from "@effect-mcp/protocol"
import { Excerpt } from "@effect-mcp/protocol/internal"
import * as Data from "effect/Data"
import type * as Effect from "effect/Effect"
import * as Formatter from "effect/Formatter"

/**
 * The reason of a request that waits for a person who has to authorize the client. See {@link TransportErrorReason}.
 *
 * @category models
 */
export interface AuthorizationRequired {
  readonly _tag: "AuthorizationRequired"
  readonly target: string
  readonly url?: string
  readonly code?: string
  readonly since: number
  readonly isQueued?: true
  readonly authorized: Effect.Effect<void, TransportError>
  readonly changed?: Effect.Effect<AuthorizationRequired>
}

/**
 * The kinds of {@link TransportError}.
 *
 * - `InUse`: the transport already carries a session, and can carry only one.
 * - `ConnectFailed`: the peer at `target` could not be reached or started. `isPermanent` states that another attempt
 *   fails in the same way, until the program or the system is corrected: the URL is invalid, or the command does not
 *   exist.
 * - `ReadFailed`, `WriteFailed`: the connection failed while it was in use.
 * - `Unserializable`: JSON cannot carry the message, which has a `bigint` or a cycle. Only this message is lost.
 * - `InvalidHeader`: an argument cannot be the header that its tool asks for (2026-07-28). Only this message is lost.
 * - `NoRoute`: no open stream to the peer can carry the message. Only this message is lost.
 * - `StreamStalled`: the stream of the message took no bytes for `afterMillis` (`limits.writeTimeout`), and was closed.
 *   Other streams continue.
 * - `ExchangeEnded`: the stream of one request ended without a response, or was lost. The peer may have carried the
 *   request out. Other requests continue. `cause` is known if, for example, the peer replied with an HTTP error.
 *   `isStreamLost` says that the stream had begun, and cannot be resumed.
 * - `Rejected`: the peer rejected the message with an HTTP status, and did not carry it out. `target` is the URL,
 *   without credentials and query, and `challenge` its `WWW-Authenticate` header.
 * - `Unauthenticated`: the peer at `target` requires authentication. `challenge` is its `WWW-Authenticate` header.
 * - `AuthorizationRequired`: a person has to authorize the client at `target`. `since` is the time at which the wait
 *   began, in milliseconds since 1970. `url` is the page to visit, and `code` the code to enter there. `isQueued` says
 *   that the authorization at another server is shown first. `authorized` completes when the person has, and fails with
 *   `AuthorizationFailed` otherwise. A session waits for that within the deadline of a call, and sends the call again.
 *   `changed` completes with the next state of the authorization, if the page, the code or the place in the queue
 *   changes.
 * - `AuthorizationFailed`: the client could not be authorized at `target`. `cause` is the error of the authorization.
 *   `isPermanent` states that another attempt fails in the same way, until the program or a person acts.
 * - `SessionLost`: the peer no longer knows the session, and the transport could not replace it by a new one.
 * - `PeerEnded`: the peer ended the connection. `exit` is the exit of a child process.
 *
 * @category models
 */
export type TransportErrorReason =
  | { readonly _tag: "InUse" }
  | { readonly _tag: "ConnectFailed"; readonly target: string; readonly cause: unknown; readonly isPermanent?: true }
  | { readonly _tag: "ReadFailed"; readonly cause: unknown }
  | { readonly _tag: "WriteFailed"; readonly cause: unknown }
  | { readonly _tag: "Unserializable"; readonly cause: unknown }
  | { readonly _tag: "InvalidHeader"; readonly problem: string }
  | { readonly _tag: "NoRoute"; readonly method: string | undefined }
  | { readonly _tag: "StreamStalled"; readonly afterMillis: number }
  | { readonly _tag: "ExchangeEnded"; readonly cause?: unknown; readonly isStreamLost?: boolean }
  | {
    readonly _tag: "Rejected"
    readonly status: number
    /** The message of the peer, or the problem with its response. */
    readonly problem: string
    /** The code of the JSON-RPC error in the body, if there is one. */
    readonly code?: number | undefined
    /** The milliseconds after which the peer allows a retry (`Retry-After`). */
    readonly retryAfterMillis: number | undefined
    readonly target?: string
    readonly challenge?: string
  }
  | { readonly _tag: "Unauthenticated"; readonly challenge: string | undefined; readonly target?: string }
  | AuthorizationRequired
  | {
    readonly _tag: "AuthorizationFailed"
    readonly target: string
    readonly problem: string
    readonly cause: unknown
    readonly isPermanent?: true
  }
  | { readonly _tag: "SessionLost"; readonly problem: string }
  | { readonly _tag: "PeerEnded"; readonly exit: CloseReason.ProcessExit | undefined }

const textOf = (cause: unknown): string =>
  cause instanceof Error ? cause.message : typeof cause === "string" ? cause : Formatter.format(cause)

/** The greatest length of a text of the peer in a message. */
const maxText = 1_000

/** The greatest length of a URL in a message: an authorization request has long parameters. */
const maxUrl = 4_096

const peerAt = (target: string | undefined): string => target === undefined ? "the peer" : `the server at ${target}`

/** The statuses of a URL at which there is no MCP server, or none that takes messages. */
const wrongPath: ReadonlySet<number> = new Set([404, 405, 406, 410, 415, 501])

/** Returns what to do about a rejection by a URL. A server that replies with a JSON-RPC error is at the right one. */
const adviceFor = ({ code, status, target }: Extract<TransportErrorReason, { readonly _tag: "Rejected" }>): string => {
  if (target === undefined || code !== undefined) return ""
  if (wrongPath.has(status)) return "; check the path of the URL"
  return status === 403 ? "; check that the token in `headers` permits this" : ""
}

const describe = (reason: TransportErrorReason): string => {
  switch (reason._tag) {
    case "InUse":
      return "this transport already carries a session; make a transport for each session"
    case "ConnectFailed":
      return `could not connect to ${reason.target}: ${textOf(reason.cause)}`
    case "ReadFailed":
      return `reading from the peer failed: ${textOf(reason.cause)}`
    case "WriteFailed":
      return `writing to the peer failed: ${textOf(reason.cause)}`
    case "Unserializable":
      return `JSON cannot carry the message: ${textOf(reason.cause)}`
    case "InvalidHeader":
      return reason.problem
    case "NoRoute":
      return `no open stream can carry ${reason.method ?? "this response"}`
    case "StreamStalled":
      return `the stream took no bytes for ${reason.afterMillis} ms and was closed; ` +
        "set limits.writeTimeout to allow more"
    case "ExchangeEnded":
      return reason.cause === undefined
        ? "the peer ended the stream of the request without a response"
        : `the stream of the request was lost: ${textOf(reason.cause)}`
    case "Rejected":
      return `${peerAt(reason.target)} rejected the message with status ${reason.status}: ` +
        Excerpt.of(reason.problem, maxText) + adviceFor(reason)
    case "Unauthenticated":
      return `${peerAt(reason.target)} requires authentication` +
        (reason.challenge === undefined ? "" : `: ${Excerpt.line(reason.challenge, maxText)}`) +
        (reason.target === undefined
          ? ""
          : "; send a valid token in `headers`, or sign in by OAuth.layer of @effect-mcp/auth")
    case "AuthorizationRequired":
      return `${peerAt(reason.target)} requires that a person authorizes this client` +
        (reason.url === undefined ? "" : `; visit ${Excerpt.of(reason.url, maxUrl)}`) +
        (reason.isQueued === true ? "; the authorization at another server is shown first" : "")
    case "AuthorizationFailed":
      return `could not authorize this client at ${reason.target}: ${Excerpt.of(reason.problem, maxText)}`
    case "SessionLost":
      return `the peer no longer knows this session: ${Excerpt.of(reason.problem, maxText)}`
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
 * export const message = error.message
 * // => "this transport already carries a session; make a transport for each session"
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
 * Creates a {@link TransportError} of this kind.
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

/** The errors of requests between a proxied server and clients, without causes, which may have secrets. */

import type { ServerUnavailableError } from "@effect-mcp/client/ServerUnavailableError"
import { CloseReason, ErrorCode, McpError } from "@effect-mcp/protocol"
import { Excerpt } from "@effect-mcp/protocol/internal"
import { RequestError } from "@effect-mcp/session"
import type { Inbound, Transport } from "@effect-mcp/session/Transport"
import * as Effect from "effect/Effect"
import * as Predicate from "effect/Predicate"
import * as Result from "effect/Result"

/** Creates the error of a request that the proxy itself could not serve. The problem has no words of another party. */
export const unavailable = (server: string, problem: string): McpError.McpError =>
  McpError.received({ code: ErrorCode.InternalError, message: `the server "${server}" is not available: ${problem}` })

/** Returns the error of a request that found no session. The status of the server may have secrets, and is logged. */
export const withoutSession =
  (method: string) => ({ unreachable }: ServerUnavailableError): RequestError.RequestError =>
    unreachable ?? RequestError.make(method, { _tag: "Closed", reason: CloseReason.requested, isSent: false })

/**
 * Returns the error for the other party. The scopes that the proxy lacks at a server are none that a client can get for
 * the proxy: as they are, they would become a challenge, and the client would authorize again and again.
 */
const ofProxy = (peer: string, error: McpError.McpError): McpError.McpError =>
  error.code === ErrorCode.InsufficientScope
    ? McpError.received({ code: ErrorCode.InternalError, message: `"${peer}" rejects the proxy: insufficient scope` })
    : error

/** The kinds of errors that are logged elsewhere, or that the other party receives in full. */
const explained: ReadonlySet<RequestError.RequestErrorReason["_tag"]> = new Set([
  "Closed",
  "ExchangeEnded",
  "NotSubscribable",
  "Timeout"
])

/** Fails with the error that the peer sent, unchanged, or with one that names why there is none. */
export const failing =
  (peer: string) => (error: RequestError.RequestError): Effect.Effect<never, McpError.McpError> => {
    const { message, method, reason } = error
    switch (reason._tag) {
      case "ErrorResponse":
      case "QuestionFailed":
        return Effect.fail(ofProxy(peer, reason.error))
      case "MissingCapability":
      case "NotInRevision":
        return Effect.fail(McpError.received({
          code: ErrorCode.MethodNotFound,
          message: `the server "${peer}" does not have ${method}`
        }))
      case "OutcomeUnknown":
        return Effect.andThen(
          Effect.logWarning(`a request of the proxy to the server "${peer}" was lost: ${Excerpt.line(message)}`),
          Effect.fail(McpError.outcomeUnknown(`the server "${peer}": ${RequestError.withoutCause(error)}`))
        )
      case "InvalidParams":
        // The words are about the params that the other party itself has sent.
        return Effect.fail(McpError.invalidParams(message))
      default: {
        const failed = Effect.fail(unavailable(peer, RequestError.withoutCause(error)))
        return explained.has(reason._tag)
          ? failed
          : Effect.andThen(
            Effect.logWarning(`a request of the proxy to the server "${peer}" failed: ${Excerpt.line(message)}`),
            failed
          )
      }
    }
  }

/** The errors whose `data` a client reads: capabilities, revisions, and addresses to visit. */
const read: ReadonlySet<unknown> = new Set([
  ErrorCode.MissingRequiredClientCapability,
  ErrorCode.UnsupportedProtocolVersion,
  ErrorCode.UrlElicitationRequired
])

/** Returns a message, without the secrets in the `data` of its error. */
const withoutSecrets = (message: unknown, hide: (value: unknown) => unknown): unknown => {
  if (!Predicate.hasProperty(message, "error")) return message
  const { error } = message
  if (!Predicate.hasProperty(error, "data")) return message
  if (Predicate.hasProperty(error, "code") && read.has(error.code)) return message
  return { ...message, error: { ...error, data: hide(error.data) } }
}

const hidden = (inbound: Inbound, hide: (value: unknown) => unknown): Inbound => {
  if (Result.isFailure(inbound.frame)) return inbound
  const frame = inbound.frame.success
  const shown = Array.isArray(frame)
    ? frame.map((message: unknown) => withoutSecrets(message, hide))
    : withoutSecrets(frame, hide)
  return shown === frame ? inbound : { ...inbound, frame: Result.succeed(shown) }
}

/**
 * Returns the transport of a proxied server. A server may repeat the secrets of the proxy in the `data` of an error,
 * which a transport does not change, because it is for the program. The clients of the proxy must not receive them.
 */
export const hiding = ({ connect }: Transport["Service"]): Transport["Service"] => ({
  connect: Effect.map(connect, (connection) => {
    const { hideSecrets } = connection
    if (hideSecrets === undefined) return connection
    return {
      ...connection,
      run: (deliver, hooks) => connection.run((inbound) => deliver(hidden(inbound, hideSecrets)), hooks)
    }
  })
})

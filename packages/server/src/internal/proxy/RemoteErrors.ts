/** The errors of requests between a proxied server and clients, without causes, which may have secrets. */

import { ErrorCode, Excerpt, McpError } from "@effect-mcp/protocol"
import { RequestError } from "@effect-mcp/session"
import * as Effect from "effect/Effect"

/** Creates the error of a request that the proxy itself could not serve. The problem has no words of another party. */
export const unavailable = (server: string, problem: string): McpError.McpError =>
  McpError.received({ code: ErrorCode.InternalError, message: `the server "${server}" is not available: ${problem}` })

/** The kinds of errors that are logged elsewhere, or that the other party receives in full. */
const explained: ReadonlySet<RequestError.RequestErrorReason["_tag"]> = new Set([
  "Closed",
  "ExchangeEnded",
  "NotServed",
  "Timeout"
])

/** Fails with the error that the peer sent, unchanged, or with one that names why there is none. */
export const failing =
  (peer: string) => (error: RequestError.RequestError): Effect.Effect<never, McpError.McpError> => {
    const { message, method, reason } = error
    switch (reason._tag) {
      case "ErrorResponse":
      case "QuestionFailed":
        return Effect.fail(reason.error)
      case "MissingCapability":
      case "NotInRevision":
        return Effect.fail(McpError.received({
          code: ErrorCode.MethodNotFound,
          message: `the server "${peer}" does not have ${method}`
        }))
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

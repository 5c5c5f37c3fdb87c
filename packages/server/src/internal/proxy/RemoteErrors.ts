/** The errors of requests to a proxied server, as clients of the proxy receive them. */

import { ErrorCode, McpError } from "@effect-mcp/protocol"
import type { RequestError } from "@effect-mcp/session"

/** Creates the error of a request that the proxy itself could not serve. */
export const unavailable = (server: string, problem: string): McpError.McpError =>
  McpError.received({ code: ErrorCode.InternalError, message: `the server "${server}" is not available: ${problem}` })

/** Returns the error that the proxied server sent, unchanged, or one that names why there is none. */
export const toMcpError = (server: string) => ({ message, method, reason }: RequestError.RequestError) => {
  switch (reason._tag) {
    case "ErrorResponse":
    case "QuestionFailed":
      return reason.error
    case "MissingCapability":
    case "NotInRevision":
      return McpError.received({
        code: ErrorCode.MethodNotFound,
        message: `the server "${server}" does not have ${method}`
      })
    case "InvalidParams":
      return McpError.invalidParams(message)
    default:
      return unavailable(server, message)
  }
}

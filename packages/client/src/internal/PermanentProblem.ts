/** The problems of a server that time does not solve. */

import * as TransportError from "@effect-mcp/session/TransportError"
import type * as ServerStatus from "../ServerStatus.ts"

/** Returns the error of the transport that kept a handshake from being made, if there is one. */
const transportError = (problem: ServerStatus.Problem): TransportError.TransportError | undefined => {
  if (problem._tag !== "ConnectFailed") return undefined
  const { reason } = problem.error
  if (reason._tag === "ConnectFailed") return reason.error
  // Over Streamable HTTP, the first request of the handshake is the first one that reaches the server.
  if (reason._tag !== "Closed" || reason.reason._tag !== "TransportFailed") return undefined
  const { cause } = reason.reason
  return cause instanceof TransportError.TransportError ? cause : undefined
}

/**
 * Returns whether the client probably cannot connect until the program, its configuration or its system is corrected.
 * A status such as 404 is not permanent: a gateway sends it while its server is replaced.
 */
export const is = (problem: ServerStatus.Problem): boolean => {
  const reason = transportError(problem)?.reason
  switch (reason?._tag) {
    case "Unauthenticated":
      return true
    case "ConnectFailed":
    case "AuthorizationFailed":
      return reason.isPermanent === true
    default:
      return false
  }
}

/** Errors with which the runtime itself rejects messages of the peer. */

// They are plain objects: a peer decides how many there are, and an `Error` with a stack costs as much as a request.

import { ErrorCode, Excerpt, JsonRpc, type MethodDefinition, Revision } from "@effect-mcp/protocol"

const refusal = (code: number) => (message: string): JsonRpc.ErrorObject => ({ code, message })

/** Rejects a message that may not be sent now, or that is none. */
export const invalidRequest: (message: string) => JsonRpc.ErrorObject = refusal(ErrorCode.InvalidRequest)

/** Rejects params that do not fit. */
export const invalidParams: (message: string) => JsonRpc.ErrorObject = refusal(ErrorCode.InvalidParams)

/** Rejects a frame that could not be read. */
export const unreadable: (message: string) => JsonRpc.ErrorObject = refusal(ErrorCode.ParseError)

/** Rejects a method that is not served. */
export const methodNotFound = (method: string): JsonRpc.ErrorObject => ({
  code: ErrorCode.MethodNotFound,
  message: `Method not found: ${Excerpt.of(method)}`
})

/** Rejects a request for which there is no room. */
export const overloaded = (why: string): JsonRpc.ErrorObject => ({
  code: ErrorCode.Overloaded,
  message: `Overloaded: ${why}`
})

/** The rejection of a request in flight, to make room for smaller ones. */
export const displaced: JsonRpc.ErrorObject = overloaded(
  "this request has made room for those of clients with less in flight; send it again later"
)

/** The rejection of a request with the id of another. */
export const duplicate: JsonRpc.ErrorObject = invalidRequest("A request with this id is in flight")

/** Rejects a request before the handshake, or while the session is closing. */
export const notReady = (role: MethodDefinition.Role, state: string): JsonRpc.ErrorObject =>
  invalidRequest(
    state === "Closing"
      ? "The session is closing"
      : role === "server"
      ? "Server not initialized"
      : "Client not initialized"
  )

/** Rejects a frame that is no message. */
export const malformed = (problem: string): JsonRpc.ErrorObject => invalidRequest(`Invalid request: ${problem}`)

/** Makes the reply to a frame whose id may be unreadable. Revisions differ in its form. */
export const response = (
  error: JsonRpc.ErrorObject,
  id: JsonRpc.Request["id"] | undefined,
  revision: Revision.Revision | undefined
): JsonRpc.Failure => {
  const unreadable = revision !== undefined && Revision.envelopes[revision].unreadableId === "null" ? null : undefined
  return JsonRpc.failure(id ?? unreadable, error)
}

/** The errors with which a session rejects messages of its peer. */

// They are plain objects, because a peer decides how many occur, and an `Error` with a stack costs as much as a
// request.

import { ErrorCode, JsonRpc, type MethodDefinition, Revision } from "@effect-mcp/protocol"
import { Excerpt } from "@effect-mcp/protocol/internal"

const withCode = (code: number) => (message: string): JsonRpc.ErrorObject => ({ code, message })

/** Rejects a message that is not allowed now, or a frame that is not a message. */
export const invalidRequest: (message: string) => JsonRpc.ErrorObject = withCode(ErrorCode.InvalidRequest)

/** Rejects invalid params. */
export const invalidParams: (message: string) => JsonRpc.ErrorObject = withCode(ErrorCode.InvalidParams)

/** Rejects a frame that is not valid JSON. */
export const unreadable: (message: string) => JsonRpc.ErrorObject = withCode(ErrorCode.ParseError)

/** Rejects a method without a handler. */
export const methodNotFound = (method: string): JsonRpc.ErrorObject => ({
  code: ErrorCode.MethodNotFound,
  message: `Method not found: ${Excerpt.of(method)}`
})

/** Rejects a request for which there is no capacity. */
export const overloaded = (why: string): JsonRpc.ErrorObject => ({
  code: ErrorCode.Overloaded,
  message: `Overloaded: ${why}`
})

/** The rejection of a request in flight whose capacity other requests need. */
export const displaced: JsonRpc.ErrorObject = overloaded(
  "this request was dropped in favour of clients with less in flight; send it again later"
)

/** The rejection of a request in a batch of which nothing is carried out. */
export const batchNotStored: JsonRpc.ErrorObject = overloaded(
  "an answer or a cancellation in the batch could not be stored; send the whole batch again later"
)

/** The rejection of a request with the id of a request in flight. */
export const duplicate: JsonRpc.ErrorObject = invalidRequest("A request with this id is in flight")

/** The rejection of a request of a revision without a handshake in a batch. */
export const inBatch: JsonRpc.ErrorObject = invalidRequest(
  "A request of this revision cannot be in a batch; send it as a message of its own"
)

/** Rejects a request before the handshake, or while the session is closing. */
export const notReady = (role: MethodDefinition.Role, state: string): JsonRpc.ErrorObject =>
  invalidRequest(
    state === "Closing"
      ? "The session is closing"
      : role === "server"
      ? "Server not initialized"
      : "Client not initialized"
  )

/** Rejects a frame that is not a message. */
export const malformed = (problem: string): JsonRpc.ErrorObject => invalidRequest(`Invalid request: ${problem}`)

/** Returns the reply to a frame whose id may be unreadable. Its form depends on the revision. */
export const response = (
  error: JsonRpc.ErrorObject,
  id: JsonRpc.Request["id"] | undefined,
  revision: Revision.Revision | undefined
): JsonRpc.Failure => {
  const unreadable = revision !== undefined && Revision.envelopes[revision].unreadableId === "null" ? null : undefined
  return JsonRpc.failure(id ?? unreadable, error)
}

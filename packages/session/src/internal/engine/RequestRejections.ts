/**
 * Errors with which the runtime itself rejects what a peer sent. They are plain objects: a peer decides how many there
 * are, and an `Error` with a stack costs as much as serving a request.
 */

import { ErrorCode, Excerpt, JsonRpc, Revision } from "@effect-mcp/protocol"

const refusal = (code: number) => (message: string): JsonRpc.ErrorObject => ({ code, message })

/** The message may not be sent now, or is no message. */
export const invalidRequest: (message: string) => JsonRpc.ErrorObject = refusal(ErrorCode.InvalidRequest)

/** The params do not fit. */
export const invalidParams: (message: string) => JsonRpc.ErrorObject = refusal(ErrorCode.InvalidParams)

/** The frame could not be read. */
export const unreadable: (message: string) => JsonRpc.ErrorObject = refusal(ErrorCode.ParseError)

/** The method is not served. */
export const methodNotFound = (method: string): JsonRpc.ErrorObject => ({
  code: ErrorCode.MethodNotFound,
  message: `Method not found: ${Excerpt.of(method)}`
})

/** There is no room for another request. */
export const overloaded = (why: string): JsonRpc.ErrorObject => ({
  code: ErrorCode.Overloaded,
  message: `Overloaded: ${why}`
})

/** The request was in flight, and the room that it took is needed for smaller ones. */
export const displaced: JsonRpc.ErrorObject = overloaded(
  "this request has made room for those of clients with less in flight; send it again later"
)

/** Its id is that of another. */
export const duplicate: JsonRpc.ErrorObject = invalidRequest("A request with this id is in flight")

/** It is no message. */
export const malformed = (problem: string): JsonRpc.ErrorObject => invalidRequest(`Invalid request: ${problem}`)

/** The answer to something whose id may be unreadable, which revisions say in two ways. */
export const response = (
  error: JsonRpc.ErrorObject,
  id: JsonRpc.Request["id"] | undefined,
  revision: Revision.Revision | undefined
): JsonRpc.Failure => {
  const unreadable = revision !== undefined && Revision.envelopes[revision].unreadableId === "null" ? null : undefined
  return JsonRpc.failure(id ?? unreadable, error)
}

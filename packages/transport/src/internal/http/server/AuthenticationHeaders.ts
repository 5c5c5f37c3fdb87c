/** The headers that an `Authentication` adds to each response. */
import type { HttpServerRequest } from "effect/http/HttpServerRequest"
import type { Authentication } from "../../../Authentication.ts"
import type * as HttpResponses from "./HttpResponses.ts"

const valid = /^[\t\x20-\x7e\x80-\xff]*$/

/** Returns the headers for the response to a request, if there are any. */
export const of = (
  authentication: Authentication["Service"],
  request: HttpServerRequest
): HttpResponses.Headers | undefined => {
  if (authentication.headers === undefined) return undefined
  try {
    const headers = authentication.headers(request)
    // The HTTP server would throw on any other value, and the request would get no response.
    return Object.values(headers).every((value) => valid.test(value)) ? headers : undefined
  } catch {
    return undefined
  }
}

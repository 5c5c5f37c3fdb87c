/** The challenges of requests that are rejected after `Authentication.identify` has accepted their senders. */
import type { HttpServerRequest } from "effect/http/HttpServerRequest"
import * as Authentication from "../../../Authentication.ts"
import type * as HttpResponses from "./HttpResponses.ts"

/** Returns the headers of the response to a request with a problem. */
export type Challenges = (problem: Authentication.Problem, request: HttpServerRequest) => HttpResponses.Headers

const valid = /^[\t\x20-\x7e\x80-\xff]+$/

/** Returns the challenge of the authentication, or the default if it has none or cannot make one. */
const challengeOf = (
  { challenge }: Authentication.Authentication["Service"],
  problem: Authentication.Problem,
  request: HttpServerRequest
): string => {
  if (challenge === undefined) return Authentication.challengeOf(problem)
  try {
    const value: unknown = challenge(problem, request)
    // The HTTP server would throw on any other value, and the request would get no response.
    if (typeof value === "string" && valid.test(value)) return value
  } catch {
    // The default has the same error and scopes.
  }
  return Authentication.challengeOf(problem)
}

/** Makes the function that returns the headers. */
export const make = (authentication: Authentication.Authentication["Service"]): Challenges => (problem, request) => ({
  "www-authenticate": challengeOf(authentication, problem, request)
})

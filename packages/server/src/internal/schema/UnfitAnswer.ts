/** The errors of answers that a client sent, and that do not fit the schema of the form. */

import type * as RequestContext from "@effect-mcp/session/RequestContext"
import * as RequestError from "@effect-mcp/session/RequestError"

type Asking = RequestContext.RequestContext["Service"]

/** The handlers' contexts that asked. The error may reach the client of another call, whose text it does not have. */
const asking = new WeakMap<RequestError.RequestError, Asking>()

/** Creates the error of an answer to a form of this context. */
export const make = (context: Asking, problem: string): RequestError.RequestError => {
  const error = RequestError.make("elicitation/create", { _tag: "InvalidResult", problem })
  asking.set(error, context)
  return error
}

/** Returns whether an error is that of an answer to a form of this context. */
export const isOf = (context: Asking, error: RequestError.RequestError): boolean => asking.get(error) === context

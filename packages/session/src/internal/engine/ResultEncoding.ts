/** The checks of a handler's result, and its form for the peer's revision. */

import { type Revision, RevisionProjection } from "@effect-mcp/protocol"
import * as Exit from "effect/Exit"
import * as SemanticChecks from "./SemanticChecks.ts"

const isResult = (value: unknown): boolean => typeof value === "object" && value !== null

/**
 * Returns the result of a handler in the form of the peer's revision. Dies if the result is invalid. An object of the
 * program may throw when its members are read; this counts as a failure of the handler.
 */
export const encode = (
  method: string,
  revision: Revision.Revision,
  params: object,
  value: unknown,
  projection: RevisionProjection.Projection | undefined
): Exit.Exit<unknown> => {
  if (!isResult(value)) {
    return Exit.die(new Error(`the handler of ${method} returned a value that is not an object`))
  }
  try {
    const problem = SemanticChecks.validateOwnResult(method, value) ??
      SemanticChecks.validateResult(method, params, value)
    if (problem !== undefined) {
      return Exit.die(new Error(`the handler of ${method} returned an invalid result: ${problem}`))
    }
    return Exit.succeed(RevisionProjection.project(method, "result", revision, value, projection))
  } catch (thrown) {
    return Exit.die(thrown)
  }
}

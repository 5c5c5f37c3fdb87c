/** The checks of a handler's result, and its form for the peer's revision. */

import { McpError, type Revision, RevisionProjection } from "@effect-mcp/protocol"
import * as Cause from "effect/Cause"
import * as Exit from "effect/Exit"
import * as SemanticChecks from "./SemanticChecks.ts"

const isResult = (value: unknown): boolean => typeof value === "object" && value !== null

/**
 * Returns the result of a handler in the form of the peer's revision. Dies if the result is invalid. If it does not fit
 * the question of the peer, the peer receives the problem as well, which has words of its question only. An object of
 * the program may throw when its members are read; this counts as a failure of the handler.
 */
export const encode = (
  method: string,
  revision: Revision.Revision,
  params: object,
  value: unknown,
  projection: RevisionProjection.Projection | undefined
): Exit.Exit<unknown, McpError.McpError> => {
  if (!isResult(value)) {
    return Exit.die(new Error(`the handler of ${method} returned a value that is not an object`))
  }
  try {
    const invalid = (problem: string) => new Error(`the handler of ${method} returned an invalid result: ${problem}`)
    const problem = SemanticChecks.validateOwnResult(method, value)
    if (problem !== undefined) return Exit.die(invalid(problem))
    const misfit = SemanticChecks.validateResult(method, params, value)
    if (misfit !== undefined) {
      return Exit.failCause(Cause.combine(Cause.fail(McpError.invalidAnswer(misfit)), Cause.die(invalid(misfit))))
    }
    return Exit.succeed(RevisionProjection.project(method, "result", revision, value, projection))
  } catch (thrown) {
    return Exit.die(thrown)
  }
}

/** The encoding of a handler's result. */

import { type Revision, RevisionProjection } from "@effect-mcp/protocol"
import * as Exit from "effect/Exit"
import * as SemanticChecks from "./SemanticChecks.ts"

const isResult = (value: unknown): boolean => typeof value === "object" && value !== null

/**
 * Encodes the result of a handler in the form of the peer's revision. Reading the objects of a program may throw, and
 * that fails like the handler itself.
 */
export const encode = (
  method: string,
  revision: Revision.Revision,
  params: object,
  value: unknown,
  projection: RevisionProjection.Projection | undefined
): Exit.Exit<unknown> => {
  if (!isResult(value)) {
    return Exit.die(new Error(`the handler of ${method} answered with something that is no result`))
  }
  try {
    const problem = SemanticChecks.validateOwnResult(method, value) ??
      SemanticChecks.validateResult(method, params, value)
    if (problem !== undefined) return Exit.die(new Error(`the result of ${method} does not fit: ${problem}`))
    return Exit.succeed(RevisionProjection.downgrade(method, "result", revision, value, projection))
  } catch (thrown) {
    return Exit.die(thrown)
  }
}

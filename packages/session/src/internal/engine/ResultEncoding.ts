/** The checks of a handler's result, and its form for the peer's revision. */

import { McpError, Revision, RevisionProjection } from "@effect-mcp/protocol"
import * as Cause from "effect/Cause"
import * as Exit from "effect/Exit"
import * as PreparedResult from "./PreparedResult.ts"
import * as SemanticChecks from "./SemanticChecks.ts"

const isResult = (value: unknown): value is object => typeof value === "object" && value !== null

type Keys = ReadonlyMap<Revision.Revision, object>

const makeKeys = (): Keys => new Map(Revision.supported.map((revision) => [revision, {}]))

/** The keys of the forms of prepared results: one for each projection and revision. */
const keys: { readonly [P in RevisionProjection.Projection]: Keys } = { strict: makeKeys(), tolerant: makeKeys() }

/**
 * Returns a result in the form of a revision. The form of a prepared result is prepared as well: without this, a list
 * with one schema that older revisions lack would be converted and encoded for each of their clients.
 */
const projected = (
  method: string,
  revision: Revision.Revision,
  value: object,
  projection: RevisionProjection.Projection | undefined
): object =>
  PreparedResult.isPrepared(value)
    ? PreparedResult.derive(
      value,
      keys[projection ?? "tolerant"].get(revision) ?? keys,
      (result) => RevisionProjection.project(method, "result", revision, result, projection)
    )
    : RevisionProjection.project(method, "result", revision, value, projection)

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
    return Exit.succeed(projected(method, revision, value, projection))
  } catch (thrown) {
    return Exit.die(thrown)
  }
}

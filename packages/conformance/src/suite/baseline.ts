/**
 * Checks of the suite that are expected to fail, each with the reason. One that passes has to go: runs fail until it does.
 */
import type * as Revision from "@effect-mcp/protocol/Revision"
import type { Side } from "./scenario.ts"

export interface ExpectedFailure {
  readonly side: Side
  readonly scenario: string
  /** The id of the check, or `none` where the scenario checks nothing. */
  readonly check: string
  /** Absent: in all releases of the suite. */
  readonly release?: string
  /** Absent: at all revisions. */
  readonly revision?: Revision.Revision
  readonly reason: string
}

export const expectedFailures: ReadonlyArray<ExpectedFailure> = []

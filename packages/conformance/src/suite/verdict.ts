/**
 * Verdicts on scenarios: the failed checks, the expected ones among them, and stale entries of the baseline.
 */
import { type ExpectedFailure, expectedFailures } from "./baseline.ts"
import type { Check } from "./check.ts"
import type { Scenario } from "./scenario.ts"

/** A scenario with the results of the suite. */
export interface Outcome {
  readonly scenario: Scenario
  /** The checks; absent if the suite wrote none. */
  readonly checks: ReadonlyArray<Check> | undefined
  /** The last output of the suite or of the tested program, after a failure exit. */
  readonly failure?: string
}

/** A problem. */
export interface Problem {
  /** The id of the check; `none` if nothing was checked; `exit` if a program failed although its checks passed. */
  readonly check: string
  readonly message: string
}

export interface Verdict {
  readonly scenario: Scenario
  readonly passed: number
  readonly failed: number
  readonly warnings: number
  /** The unexpected problems. */
  readonly unexpected: ReadonlyArray<Problem>
  /** The expected failures that occurred. */
  readonly expected: ReadonlyArray<ExpectedFailure>
  /** The expected failures of this scenario that did not occur. */
  readonly stale: ReadonlyArray<ExpectedFailure>
}

/** Returns the problems of an outcome. A warning, which is the suite's result for a SHOULD, counts as a failure. */
const problemsOf = ({ checks = [], failure }: Outcome): ReadonlyArray<Problem> => {
  const problems = checks.filter(({ status }) => status === "FAILURE" || status === "WARNING").map((check) => ({
    check: check.id,
    message: check.errorMessage ?? check.status
  }))
  if (problems.length > 0) return problems
  if (failure !== undefined) return [{ check: "exit", message: failure }]
  // A scenario without a check proves nothing.
  return checks.some(({ status }) => status === "SUCCESS")
    ? []
    : [{ check: "none", message: "the suite checked nothing" }]
}

const covers = (expected: ExpectedFailure, { name, release, revision, side }: Scenario): boolean =>
  expected.side === side && expected.scenario === name &&
  (expected.release === undefined || expected.release === release.version) &&
  (expected.revision === undefined || expected.revision === revision)

/** Judges an outcome by the baseline. */
export const judge = (outcome: Outcome, baseline: ReadonlyArray<ExpectedFailure> = expectedFailures): Verdict => {
  const { checks = [], scenario } = outcome
  const problems = problemsOf(outcome)
  const expectations = baseline.filter((expected) => covers(expected, scenario))
  const count = (status: Check["status"]) => checks.filter((check) => check.status === status).length
  const isExpected = ({ check }: Problem) => expectations.some((expected) => expected.check === check)
  const occurred = (expected: ExpectedFailure) => problems.some(({ check }) => check === expected.check)
  return {
    scenario,
    passed: count("SUCCESS"),
    failed: count("FAILURE"),
    warnings: count("WARNING"),
    unexpected: problems.filter((problem) => !isExpected(problem)),
    expected: expectations.filter(occurred),
    stale: expectations.filter((expected) => !occurred(expected))
  }
}

/** Returns the entries of the baseline that match no scenario, such as misspelt ones. */
export const withoutScenario = (
  scenarios: ReadonlyArray<Scenario>,
  baseline: ReadonlyArray<ExpectedFailure> = expectedFailures
): ReadonlyArray<ExpectedFailure> =>
  baseline.filter((expected) => !scenarios.some((scenario) => covers(expected, scenario)))

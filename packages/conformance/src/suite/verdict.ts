/**
 * What is to be thought of a scenario that was run: which checks failed, which of them were expected to, and which expectations
 * are out of date.
 */
import { type ExpectedFailure, expectedFailures } from "./baseline.ts"
import type { Check } from "./check.ts"
import type { Scenario } from "./scenario.ts"

/** A scenario, and what the suite found out. */
export interface Outcome {
  readonly scenario: Scenario
  /** Absent where the suite wrote none. */
  readonly checks: ReadonlyArray<Check> | undefined
  /** The last that the suite, or the program it tried, had to say, where it ended badly. */
  readonly complaint?: string
}

/** What is wrong. */
export interface Problem {
  /** The id of the check; `none` where nothing was checked, `exit` where a program ended badly though its checks are well. */
  readonly check: string
  readonly message: string
}

export interface Verdict {
  readonly scenario: Scenario
  readonly passed: number
  readonly failed: number
  readonly warnings: number
  /** What nobody expected. */
  readonly unexpected: ReadonlyArray<Problem>
  /** What failed as it was expected to. */
  readonly expected: ReadonlyArray<ExpectedFailure>
  /** Expectations of this scenario that did not come true. */
  readonly stale: ReadonlyArray<ExpectedFailure>
}

/** Warnings are the suite's word for a SHOULD, and count here like failures. */
const problemsOf = ({ checks = [], complaint }: Outcome): ReadonlyArray<Problem> => {
  const problems = checks.filter(({ status }) => status === "FAILURE" || status === "WARNING").map((check) => ({
    check: check.id,
    message: check.errorMessage ?? check.status
  }))
  if (problems.length > 0) return problems
  if (complaint !== undefined) return [{ check: "exit", message: complaint }]
  // A scenario that looked at nothing shows nothing.
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
  const cameTrue = (expected: ExpectedFailure) => problems.some(({ check }) => check === expected.check)
  return {
    scenario,
    passed: count("SUCCESS"),
    failed: count("FAILURE"),
    warnings: count("WARNING"),
    unexpected: problems.filter((problem) => !isExpected(problem)),
    expected: expectations.filter(cameTrue),
    stale: expectations.filter((expected) => !cameTrue(expected))
  }
}

/** Entries of the baseline that are about none of these scenarios: they were misspelt, or the suite has them no more. */
export const astray = (
  scenarios: ReadonlyArray<Scenario>,
  baseline: ReadonlyArray<ExpectedFailure> = expectedFailures
): ReadonlyArray<ExpectedFailure> =>
  baseline.filter((expected) => !scenarios.some((scenario) => covers(expected, scenario)))

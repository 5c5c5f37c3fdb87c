import * as fs from "node:fs"
import type { Reporter, TestModule } from "vitest/node"

/** What became of one test. */
export interface TestOutcome {
  readonly file: string
  readonly name: string
  readonly passed: boolean
  /** The first line of what was wrong. */
  readonly message: string
}

/** What became of a run. */
export interface Outcome {
  /** The tests that ran. */
  readonly tests: ReadonlyArray<TestOutcome>
  /** Why files of tests could not be loaded, and errors that belong to no test. */
  readonly errors: ReadonlyArray<string>
}

/** The environment variable that names the file to write to. */
export const outcomeVariable = "REQUIREMENTS_OUTCOME"

/** The environment variable that holds the time limit of a test, in milliseconds. */
export const timeoutVariable = "REQUIREMENTS_TIMEOUT"

/** An error that is no `Error`, as a failed Effect may bring, has no message, whatever its type says. */
const firstLine = (errors: ReadonlyArray<{ readonly message?: string }> | undefined): string => {
  const [error] = errors ?? []
  if (error === undefined) return ""
  return (error.message ?? JSON.stringify(error)).trim().split("\n")[0] ?? ""
}

/**
 * Writes what became of each test to a file, as JSON. A hook that fails around a suite fails all of the suite's tests.
 */
export default class OutcomeReporter implements Reporter {
  onTestRunEnd: NonNullable<Reporter["onTestRunEnd"]> = (modules, unhandledErrors) => {
    const outcome: Outcome = {
      tests: modules.flatMap(testsOf),
      errors: [...modules.flatMap((module) => module.errors()), ...unhandledErrors].map((error) => firstLine([error]))
    }
    const file = process.env[outcomeVariable] ?? ""
    // The reader watches for this name, so the file is complete when it appears.
    fs.writeFileSync(`${file}.part`, JSON.stringify(outcome))
    fs.renameSync(`${file}.part`, file)
  }
}

const testsOf = (module: TestModule): ReadonlyArray<TestOutcome> => {
  const brokenSuites = Array.from(module.children.allSuites()).filter((suite) => suite.errors().length > 0)
  return Array.from(module.children.allTests()).flatMap((test) => {
    const around = brokenSuites.find((suite) => Array.from(suite.children.allTests()).includes(test))
    const { errors, state } = test.result()
    if (around === undefined && state !== "passed" && state !== "failed") return []
    return [{
      file: module.moduleId,
      name: test.fullName,
      passed: around === undefined && state === "passed",
      message: firstLine(around === undefined ? errors : around.errors())
    }]
  })
}

/**
 * The outcome of a run of Vitest, which a reporter in the child process writes to a file.
 */
import * as fs from "node:fs"
import { inspect } from "node:util"
import type { Reporter, TestModule } from "vitest/node"

/** The outcome of one test. */
export interface TestOutcome {
  readonly file: string
  readonly name: string
  readonly passed: boolean
  /** The first line of the error. */
  readonly message: string
}

/** The outcome of a run. */
export interface Outcome {
  /** The tests that ran. */
  readonly tests: ReadonlyArray<TestOutcome>
  /** The errors of test files that could not be loaded, and errors outside any test. */
  readonly errors: ReadonlyArray<string>
}

/** The environment variable that names the file to write to. */
export const outcomeVariable = "REQUIREMENTS_OUTCOME"

/** The environment variable that holds the time limit of a test, in milliseconds. */
export const timeoutVariable = "REQUIREMENTS_TIMEOUT"

/**
 * Returns the first line of an error. A failed Effect can have an error without a message, despite the type, and with
 * members that lead back to it, which is why it is not written as JSON.
 */
const firstLine = (errors: ReadonlyArray<{ readonly message?: string }> | undefined): string => {
  const [error] = errors ?? []
  if (error === undefined) return ""
  return (error.message ?? inspect(error, { depth: 1, breakLength: Number.POSITIVE_INFINITY })).trim().split("\n")[0] ??
    ""
}

/**
 * Writes the outcome of each test to a file, as JSON. If a hook of a suite fails, all tests of the suite fail.
 */
export default class OutcomeReporter implements Reporter {
  onTestRunEnd: NonNullable<Reporter["onTestRunEnd"]> = (modules, unhandledErrors) => {
    const outcome: Outcome = {
      tests: modules.flatMap(testsOf),
      errors: [...modules.flatMap((module) => module.errors()), ...unhandledErrors].map((error) => firstLine([error]))
    }
    const file = process.env[outcomeVariable] ?? ""
    // `Scratch` waits for this name, so the file must be complete when it appears.
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

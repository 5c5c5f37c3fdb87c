/**
 * The last line of `pnpm test`, as a reporter of Vitest.
 */
import type { Reporter, TestModule } from "vitest/node"

/**
 * Prints `N passed, N failed` at the end of a run. Fails a run in which no test ran, and prints what selects tests.
 *
 * A module that fails to load, a hook of a suite that fails and an error outside any test each count as a failure,
 * because no test reports them.
 */
export default class Tally implements Reporter {
  onTestRunEnd: NonNullable<Reporter["onTestRunEnd"]> = (modules, unhandledErrors) => {
    const tests = modules.flatMap((module) => Array.from(module.children.allTests()))
    const count = (state: string) => tests.filter((test) => test.result().state === state).length
    const passed = count("passed")
    const failed = count("failed") + modules.flatMap(errorsOutsideTests).length + unhandledErrors.length
    if (passed + failed === 0) {
      process.exitCode = 1
      console.log("no test ran: the words after `pnpm test` select files of packages/*/test by their paths")
    }
    console.log(`${passed} passed, ${failed} failed`)
  }
}

const errorsOutsideTests = (module: TestModule) =>
  [module, ...module.children.allSuites()].flatMap((suite) => suite.errors())

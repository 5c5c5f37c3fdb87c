import type { Reporter, TestModule } from "vitest/node"

/**
 * Closes a run with one plain line, `N passed, N failed`, and fails a run in which no test ran.
 *
 * A module that failed to load, a hook that failed around a suite and an error outside any test count as failures:
 * none of them has a test to carry it.
 */
export default class Tally implements Reporter {
  onTestRunEnd: NonNullable<Reporter["onTestRunEnd"]> = (modules, unhandledErrors) => {
    const tests = modules.flatMap((module) => Array.from(module.children.allTests()))
    const count = (state: string) => tests.filter((test) => test.result().state === state).length
    const passed = count("passed")
    const failed = count("failed") + modules.flatMap(errorsOutsideTests).length + unhandledErrors.length
    if (passed + failed === 0) {
      process.exitCode = 1
    }
    console.log(`${passed} passed, ${failed} failed`)
  }
}

const errorsOutsideTests = (module: TestModule) =>
  [module, ...module.children.allSuites()].flatMap((suite) => suite.errors())

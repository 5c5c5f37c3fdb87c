/**
 * The last line of `pnpm test` and `pnpm test:peers`, as a reporter of Vitest.
 */
import * as path from "node:path"
import type { Reporter, TestModule, Vitest } from "vitest/node"
import { faultsOfNamedTests } from "./requirements/names.ts"
import { root } from "./workspace.ts"

/**
 * Prints `N passed, N failed` at the end of a run. Fails a run in which no test ran, and prints what selects tests.
 *
 * A module that fails to load, a hook of a suite that fails and an error outside any test each count as a failure,
 * because no test reports them. So does a name of a test with a wrong id of a requirement, and a mutant whose test is
 * missing in a file that ran.
 */
export default class Tally implements Reporter {
  readonly #leavesOut: string | undefined
  #vitest: Vitest | undefined

  /** `leavesOut` names the tests that the configuration leaves out. */
  constructor({ leavesOut }: { readonly leavesOut?: string } = {}) {
    this.#leavesOut = leavesOut
  }

  onInit: NonNullable<Reporter["onInit"]> = (vitest) => {
    this.#vitest = vitest
  }

  onTestRunEnd: NonNullable<Reporter["onTestRunEnd"]> = async (modules, unhandledErrors, reason) => {
    const tests = modules.flatMap((module) => Array.from(module.children.allTests()))
    const count = (state: string) => tests.filter((test) => test.result().state === state).length
    const passed = count("passed")
    // A run of selected tests skips the others, so their names show nothing.
    const isSelection = this.#vitest?.config.testNamePattern !== undefined || reason === "interrupted"
    const faults = isSelection
      ? []
      : await faultsOfNamedTests(modules.filter((module) => module.errors().length === 0).flatMap(namesOf))
    for (const fault of faults) console.log(fault)
    const failed = count("failed") + modules.flatMap(errorsOutsideTests).length + unhandledErrors.length + faults.length
    if (faults.length > 0 || passed + failed === 0) process.exitCode = 1
    if (passed + failed === 0) {
      console.log(
        "no test ran: the words after `pnpm test` and `pnpm test:peers` select files by their paths, and each runs " +
          "other files; `pnpm vitest run` selects from all"
      )
    }
    if (this.#leavesOut !== undefined) console.log(`left out: ${this.#leavesOut}`)
    console.log(`${passed} passed, ${failed} failed`)
  }
}

const errorsOutsideTests = (module: TestModule) =>
  [module, ...module.children.allSuites()].flatMap((suite) => suite.errors())

const namesOf = (module: TestModule) => {
  const file = path.relative(root, module.moduleId).replaceAll(path.sep, "/")
  return Array.from(module.children.allTests())
    .filter(({ options }) => options.mode !== "skip" && options.mode !== "todo")
    .map(({ fullName }) => ({ file, name: fullName }))
}

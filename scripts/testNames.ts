/**
 * Names of the tests that Vitest would run: with the names of their suites, and one name for each case.
 */
import * as path from "node:path"
import { createVitest, type TestModule } from "vitest/node"
import { root } from "./workspace.ts"

/** One test. */
export interface NamedTest {
  readonly file: string
  readonly name: string
}

const fileOf = ({ moduleId }: TestModule): string => path.relative(root, moduleId).replaceAll(path.sep, "/")

/**
 * Loads every test file without running a test. Reading the names from the sources would miss names that are computed
 * at load time, and those of suites from other modules.
 */
export const testNames = async (): Promise<ReadonlyArray<NamedTest>> => {
  // Because no test runs, files of all packages can share processes, and modules that have been loaded: a project for
  // each package takes twice as long.
  const vitest = await createVitest({
    root,
    config: false,
    include: ["packages/*/test/**/*.test.ts"],
    isolate: false,
    reporters: [],
    watch: false
  })
  try {
    const { testModules, unhandledErrors } = await vitest.collect([], { staticParse: false })
    const errors = [
      ...testModules.flatMap((module) => module.errors().map(({ message }) => `${fileOf(module)}: ${message}`)),
      ...unhandledErrors.map(String)
    ]
    if (errors.length > 0) {
      throw new Error(`some test files failed to load:\n${errors.join("\n")}`)
    }
    return testModules.flatMap((module) =>
      Array.from(module.children.allTests())
        .filter(({ options }) => options.mode !== "skip" && options.mode !== "todo")
        .map(({ fullName }) => ({ file: fileOf(module), name: fullName }))
    )
  } finally {
    await vitest.close()
  }
}

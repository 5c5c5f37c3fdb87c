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
  const vitest = await createVitest({
    root,
    config: path.join(root, "vitest.workspace.ts"),
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

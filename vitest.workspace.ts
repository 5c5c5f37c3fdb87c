/**
 * The configuration of all tests: `pnpm vitest run seats` runs the files of any package whose path contains that word.
 */
import * as os from "node:os"
import { fileURLToPath } from "node:url"
import { defineConfig } from "vitest/config"

// Tests start hundreds of child processes with the same modules. A compile cache halves the time of each start.
process.env["NODE_COMPILE_CACHE"] ??= fileURLToPath(new URL("node_modules/.cache/compiled", import.meta.url))

/** The test files of `pnpm test:peers`: those of programs and foreign software, and those that take long. */
const peers = [
  "packages/{benchmarks,cli,comparisons,conformance,create,examples,interop,soak}/test/**/*.test.ts",
  "packages/*/test/**/*.long.test.ts"
]

/** Returns the configuration of some tests. All packages are one project: each project loads all modules again. */
const configuration = (
  files: { readonly include: Array<string>; readonly exclude?: Array<string> },
  leavesOut?: string
) =>
  defineConfig({
    test: {
      ...files,
      // Tests with child processes share the cores with the rest of the run, and with other work of a busy machine.
      testTimeout: 60_000,
      // Hooks start servers of official SDKs, with all of their modules.
      hookTimeout: 60_000,
      // One more than the cores: many tests wait for processes and timers, and leave their core idle.
      maxWorkers: os.availableParallelism() + 1,
      isolate: false,
      reporters: ["default", ["./scripts/tally.ts", { leavesOut }]]
    }
  })

const all = ["packages/*/test/**/*.test.ts", "scripts/test/**/*.test.ts"]

/** The configuration of `pnpm test`: the laws, the requirements of the specification, and every transport. */
export const ofLibrary = configuration(
  { include: all, exclude: peers },
  "tests with foreign software, processes, PostgreSQL or Redis, and long ones; pnpm test:peers runs them"
)

/** The configuration of `pnpm test:peers`. */
export const ofPeers = configuration({ include: peers })

export default configuration({ include: all })

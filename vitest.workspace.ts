import * as fs from "node:fs"
import * as os from "node:os"
import { fileURLToPath } from "node:url"
import { defineConfig } from "vitest/config"

// Tests start hundreds of child processes with the same modules. A compile cache halves the time of each start.
process.env["NODE_COMPILE_CACHE"] ??= fileURLToPath(new URL("node_modules/.cache/compiled", import.meta.url))

// Every package with tests is a project, named after its folder.
const packages = fs.readdirSync(new URL("packages", import.meta.url))
  .filter((name) => fs.existsSync(new URL(`packages/${name}/test`, import.meta.url)))

export default defineConfig({
  test: {
    // Tests with child processes share the cores with the rest of the run, and with other work of a busy machine.
    testTimeout: 60_000,
    // Hooks start servers of official SDKs, with all of their modules.
    hookTimeout: 60_000,
    // One more than the cores: many tests wait for processes and timers, and leave their core idle.
    maxWorkers: os.availableParallelism() + 1,
    isolate: false,
    projects: packages.map((name) => ({
      extends: true,
      test: {
        name,
        root: `packages/${name}`,
        include: ["test/**/*.test.ts"]
      }
    })),
    reporters: ["default", "./scripts/tally.ts"]
  }
})

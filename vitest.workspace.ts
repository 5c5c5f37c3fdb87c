import * as fs from "node:fs"
import { fileURLToPath } from "node:url"
import { defineConfig } from "vitest/config"

// Hundreds of child processes load the same modules. With what is compiled kept, each starts with less than half of the work.
process.env["NODE_COMPILE_CACHE"] ??= fileURLToPath(new URL("node_modules/.cache/compiled", import.meta.url))

// Every package that has tests is one project, named after its folder.
const packages = fs.readdirSync(new URL("packages", import.meta.url))
  .filter((name) => fs.existsSync(new URL(`packages/${name}/test`, import.meta.url)))

export default defineConfig({
  test: {
    // Tests that start child processes share the cores with the rest of the run.
    testTimeout: 20_000,
    // Whoever collects the results has little to do meanwhile.
    maxWorkers: "100%",
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

/** The modules of `@effect-mcp/tasks` that a server loads. */
import { assert, it } from "@effect/vitest"
import { execFileSync } from "node:child_process"
import { fileURLToPath } from "node:url"

const program = (name: string): string => fileURLToPath(new URL(name, import.meta.url))

it.each([
  { support: "forbidden", loads: false },
  { support: "optional", loads: true }
])("a server loads the package of tasks only if a tool runs as a task (tool: $support)", ({ loads, support }) => {
  const loaded: ReadonlyArray<string> = JSON.parse(
    execFileSync(process.execPath, [
      program("../../transport/test/fixtures/loadedModules.mjs"),
      program("fixtures/servedTool.ts"),
      support
    ], { encoding: "utf8" })
  )
  assert.isTrue(loaded.some((url) => url.endsWith("/session/src/ServerSession.ts")))
  assert.strictEqual(loaded.some((url) => url.includes("/packages/tasks/")), loads)
})

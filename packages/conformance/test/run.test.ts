/** The runs of the suite, with clients that fail. */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import { joinedProgram } from "../../../scripts/joinedProgram.ts"
import { newest } from "../src/suite/release.ts"
import { client, run } from "../src/suite/run.ts"
import { scenarios } from "../src/suite/scenario.ts"
import { judge } from "../src/suite/verdict.ts"

const folder = Effect.acquireRelease(
  Effect.sync(() => fs.mkdtempSync(path.join(os.tmpdir(), "run-"))),
  (folder) => Effect.sync(() => fs.rmSync(folder, { recursive: true, force: true }))
)

describe("scenarios of authorization that run together", () => {
  it.live("are judged by the exit of their client as well if it has printed something", () =>
    Effect.gen(function*() {
      const tested = scenarios(newest).filter(({ name, revision }) =>
        ["auth/metadata-default", "auth/metadata-var1"].includes(name) && revision === "2025-11-25"
      )
      assert.lengthOf(tested, 2)
      const output = yield* folder
      // The client passes all checks. Afterwards it fails in one scenario, and ends at once in those of no interest.
      const failing = path.join(output, "failing.mjs")
      const joined = JSON.stringify(yield* Effect.promise(() => joinedProgram(client)))
      fs.writeFileSync(
        failing,
        `const scenario = process.env.MCP_CONFORMANCE_SCENARIO
if (scenario === "auth/metadata-default") {
  process.on("exit", () => {
    console.log("it failed in the end")
    process.exitCode = 1
  })
}
if (scenario.startsWith("auth/metadata-")) await import(${joined})
`
      )
      const outcomes = yield* run(tested, output, { client: failing })
      assert.deepStrictEqual(
        outcomes.map((outcome) => [outcome.scenario.name, judge(outcome).unexpected.map(({ check }) => check)]),
        [["auth/metadata-default", ["exit"]], ["auth/metadata-var1", []]]
      )
      assert.include(outcomes[0]?.failure, "it failed in the end")
    }).pipe(Effect.scoped), 120_000)
})

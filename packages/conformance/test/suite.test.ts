/** The newest release of the official conformance suite, at the newest revision of each era. */
import { assert, beforeAll, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import { joinedProgram } from "../../../scripts/joinedProgram.ts"
import { newest } from "../src/suite/release.ts"
import { client, run, server } from "../src/suite/run.ts"
import { scenarios, type Side } from "../src/suite/scenario.ts"
import { judge, type Outcome } from "../src/suite/verdict.ts"

const all = scenarios(newest)

/** The tested programs, each as one file: the suite starts a client for each scenario. */
const programs = { server: await joinedProgram(server), client: await joinedProgram(client) }

const both = ["2025-11-25", "2026-07-28"].flatMap((revision) =>
  (["server", "client"] satisfies ReadonlyArray<Side>).map((side) => ({ revision, side }))
)

for (const { revision, side } of both) {
  describe(`${side} at ${revision}`, () => {
    const tested = all.filter((scenario) => scenario.side === side && scenario.revision === revision)
    let outcomes: ReadonlyArray<Outcome> = []

    // The suite runs all server scenarios at once, which takes a tenth of the time of single runs.
    beforeAll(async () => {
      const output = fs.mkdtempSync(path.join(os.tmpdir(), "conformance-"))
      try {
        outcomes = await Effect.runPromise(run(tested, output, programs))
      } finally {
        fs.rmSync(output, { recursive: true, force: true })
      }
    }, 300_000)

    for (const { name } of tested) {
      it(name, () => {
        const outcome = outcomes.find(({ scenario }) => scenario.name === name)
        assert(outcome !== undefined)
        const { stale, unexpected } = judge(outcome)
        assert.isEmpty(unexpected)
        assert.isEmpty(stale)
      })
    }
  })
}

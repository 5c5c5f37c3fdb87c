/**
 * Runs the official conformance suite against this project's server and client, in every release and at every revision
 * that the suite has scenarios for, and prints the results.
 *
 * `node scripts/conformance.ts` runs all scenarios. `--revision 2025-06-18`, `--release 0.1.16`, `--side client` and
 * `--scenario ping` select some; `--output folder` keeps the files that the suite writes. The script fails on a failure
 * or warning that the baseline does not expect, and on an entry of the baseline that does not occur.
 */
import * as Effect from "effect/Effect"
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import { parseArgs } from "node:util"
import { releases } from "../packages/conformance/src/suite/release.ts"
import { run } from "../packages/conformance/src/suite/run.ts"
import { scenarios } from "../packages/conformance/src/suite/scenario.ts"
import { entry, remarks, table } from "../packages/conformance/src/suite/table.ts"
import { judge, withoutScenario } from "../packages/conformance/src/suite/verdict.ts"
import { choice, orExit, UsageError } from "./commandLine.ts"

const all = releases.flatMap(scenarios)

const { chosen, values } = orExit(() => {
  const { values } = parseArgs({
    options: {
      revision: { type: "string" },
      release: { type: "string" },
      side: { type: "string" },
      scenario: { type: "string" },
      output: { type: "string" }
    }
  })
  const known = {
    revision: all.map(({ revision }) => revision),
    release: all.map(({ release }) => release.version),
    side: all.map(({ side }) => side),
    scenario: all.map(({ name }) => name)
  }
  for (const option of ["revision", "release", "side", "scenario"] as const) {
    const given = values[option]
    if (given !== undefined) choice<string>(option, given, Array.from(new Set<string>(known[option])))
  }
  const isWanted = (wanted: string | undefined, is: string): boolean => wanted === undefined || wanted === is
  const chosen = all.filter(({ name, release, revision, side }) =>
    isWanted(values.revision, revision) && isWanted(values.release, release.version) && isWanted(values.side, side) &&
    isWanted(values.scenario, name)
  )
  if (chosen.length === 0) {
    throw new UsageError("no scenario of the suite matches --revision, --release, --side and --scenario together")
  }
  return { chosen, values }
})

const output = values.output === undefined
  ? fs.mkdtempSync(path.join(os.tmpdir(), "conformance-"))
  : path.resolve(values.output)
// Results of an earlier run would be read as results of this one.
fs.rmSync(output, { recursive: true, force: true })

try {
  const verdicts = (await Effect.runPromise(run(chosen, output))).map((outcome) => judge(outcome))
  const unused = withoutScenario(all)
  console.log(table(verdicts))
  for (const line of remarks(verdicts)) {
    console.log(`\n${line}`)
  }
  for (const one of unused) {
    console.log(`\nSTALE: ${entry(one)} names no scenario of the suite; remove it from the baseline`)
  }
  const good = verdicts.filter(({ stale, unexpected }) => stale.length + unexpected.length === 0).length
  console.log(`\n${good} of ${verdicts.length} scenarios as expected`)
  if (good < verdicts.length || unused.length > 0) {
    process.exitCode = 1
  }
} finally {
  if (values.output === undefined) {
    fs.rmSync(output, { recursive: true, force: true })
  }
}

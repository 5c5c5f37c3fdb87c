/**
 * Writes the tables of `docs/start/compared.md`, and that of the README.
 *
 * - `node scripts/compared.ts` writes them from the stored measurements (`packages/comparisons/samples.json`), the
 *   programs of `packages/comparisons` and the features of `compared/features.ts`.
 * - `node scripts/compared.ts --check` fails if one differs.
 * - `pnpm compared` builds the packages, measures again, and writes both. It needs a network. `--rounds 60` sets the
 *   number of starts of each program.
 */
import * as fs from "node:fs"
import * as path from "node:path"
import { parseArgs } from "node:util"
import { orExit, wholeNumber } from "./commandLine.ts"
import { measure } from "./compared/measure.ts"
import * as Page from "./compared/page.ts"
import * as Samples from "./compared/Samples.ts"
import { read, root } from "./workspace.ts"

const { check, measures, rounds } = orExit(() => {
  const { values } = parseArgs({
    options: { check: { type: "boolean" }, measure: { type: "boolean" }, rounds: { type: "string", default: "60" } }
  })
  return { check: values.check, measures: values.measure, rounds: wholeNumber("rounds", values.rounds) }
})

if (measures === true) Samples.store(await measure(rounds))
const samples = Samples.read()
for (const file of Page.files) {
  const before = read(file)
  const after = Page.written(file, before, samples)
  if (check !== true) {
    fs.writeFileSync(path.join(root, file), after)
  } else if (before === after) {
    console.log(`${file} is that of its measurements and programs`)
  } else {
    console.log(`${file} differs from its measurements and programs: node scripts/compared.ts`)
    process.exitCode = 1
  }
}

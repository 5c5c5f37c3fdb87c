/**
 * Runs every check that reads the code without running it. A failed check does not stop the others, so that one run
 * shows all problems.
 */
import { spawnSync } from "node:child_process"

const checks = [
  "oxlint",
  "dprint check",
  "effect-tsgo diagnostics --project tsconfig.json --format text",
  "node scripts/arrows.ts",
  "node scripts/entries.ts",
  "node scripts/diagrams.ts --check",
  "node scripts/documented.ts",
  "node scripts/language.ts",
  "node scripts/cited.ts",
  "node scripts/doc-examples.ts",
  "node scripts/requirements.ts --check"
]

const failed = checks.filter((check) => {
  console.log(`\n> ${check}`)
  return spawnSync(check, { shell: true, stdio: "inherit" }).status !== 0
})

if (failed.length > 0) {
  console.log(`\nfailed: ${failed.join("; ")}`)
  process.exitCode = 1
}

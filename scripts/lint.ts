/**
 * Runs every check that reads the code without running it, as many at a time as there are cores. A failed check does
 * not stop the others, so that one run shows all problems.
 */
import { spawn } from "node:child_process"
import { availableParallelism } from "node:os"

/** The slowest checks first, so that no core waits for one of them in the end. */
const checks = [
  "node scripts/doc-examples.ts",
  "node scripts/language.ts",
  "node scripts/documented.ts",
  "node scripts/requirements.ts --check",
  "oxlint",
  "dprint check",
  "node scripts/arrows.ts",
  "node scripts/entries.ts",
  "node scripts/manifests.ts",
  "node scripts/side-effects.ts",
  "node scripts/navigation.ts",
  "node scripts/diagrams.ts --check",
  "node scripts/compared.ts --check",
  "node scripts/changesets.ts",
  "node scripts/cited.ts"
]

/** Runs a check, and then prints its output in one piece. Returns whether it has passed. */
const run = (check: string): Promise<boolean> =>
  new Promise((resolve) => {
    const child = spawn(check, { shell: true, stdio: ["ignore", "pipe", "pipe"] })
    const output: Array<Buffer> = []
    child.stdout.on("data", (chunk: Buffer) => output.push(chunk))
    child.stderr.on("data", (chunk: Buffer) => output.push(chunk))
    child.on("close", (status) => {
      console.log(`\n> ${check}\n${Buffer.concat(output).toString().trimEnd()}`)
      resolve(status === 0)
    })
  })

const failed: Array<string> = []
const waiting = [...checks]
const worker = async () => {
  for (let check = waiting.shift(); check !== undefined; check = waiting.shift()) {
    if (!await run(check)) failed.push(check)
  }
}
await Promise.all(Array.from({ length: availableParallelism() }, worker))

if (failed.length > 0) {
  console.log(`\nfailed: ${failed.join("; ")}`)
  process.exitCode = 1
}

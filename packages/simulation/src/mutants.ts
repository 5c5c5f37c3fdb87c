/**
 * Checks that the laws of conversations find bugs: each mutant, a session or framing with one bug, must be found.
 *
 * `pnpm mutants` searches for a conversation that finds each mutant, and prints it. It writes the conversations to
 * `mutants/replays.json` and the table to `docs/mutants.md`. With `--replay` it runs the recorded conversations and
 * writes nothing. It fails if a conversation no longer finds its mutant, or if it breaks a law without the mutant.
 * `--only NAME`, repeatable, searches for these mutants and keeps the other conversations.
 */
import { execFile } from "node:child_process"
import * as fs from "node:fs"
import { availableParallelism } from "node:os"
import * as path from "node:path"
import { parseArgs, promisify } from "node:util"
import { orExit, UsageError } from "../../../scripts/commandLine.ts"
import { read, root } from "../../../scripts/workspace.ts"
import * as Search from "./conversations/Search.ts"
import { readReplays, type Replay, replaysFile } from "./mutants/replays.ts"
import { page, withTable } from "./mutants/report.ts"
import { type Mutant, mutants } from "./mutants/table.ts"

/** The time limit of the search for one mutant, in milliseconds. */
const searchTimeout = 240_000

/** The greatest number of commands in the conversation of a mutant. */
const maxCommands = 10

const program = path.join(root, "packages/simulation/src/mutants/search.ts")
const run = promisify(execFile)

/** Runs the search for one mutant in a process of its own. Its report is the last line: a mutant may print others. */
const runSearch = async (...args: ReadonlyArray<string>) => {
  const { stdout } = await run(process.execPath, [program, ...args], { timeout: searchTimeout, maxBuffer: 2 ** 26 })
  return JSON.parse(stdout.trim().split("\n").at(-1) ?? "")
}

/** Runs an action for each item, with as many at a time as there are cores. */
const forEach = async <A>(items: ReadonlyArray<A>, action: (item: A) => Promise<void>): Promise<void> => {
  const waiting = items.values()
  const worker = async () => {
    for (const item of waiting) await action(item)
  }
  await Promise.all(Array.from({ length: availableParallelism() }, worker))
}

const { isReplay, only } = orExit(() => {
  const { values: { only, replay } } = parseArgs({
    options: { replay: { type: "boolean", default: false }, only: { type: "string", multiple: true } }
  })
  const unknown = only?.find((name) => !mutants.some((mutant) => mutant.name === name))
  if (unknown !== undefined) throw new UsageError(`--only takes the name of a mutant in table.ts, not "${unknown}"`)
  return { isReplay: replay, only }
})
const chosen = only === undefined ? mutants : mutants.filter(({ name }) => only.includes(name))

const problems: Array<string> = []
const began = performance.now()

const search = async (): Promise<void> => {
  const found = new Map<string, Replay>(only === undefined ? [] : readReplays())
  await forEach(chosen, async ({ name }) => {
    try {
      const { conversation, law, millis, problem, runs } = await runSearch(name)
      if (conversation === undefined) return void problems.push(`${name}: not found in ${runs} conversations`)
      const { length } = conversation.commands
      if (length > maxCommands) problems.push(`${name}: needs ${length} commands, more than ${maxCommands}`)
      found.set(name, { law, runs, conversation })
      console.log(`${String(millis).padStart(6)} ms  ${String(length).padStart(2)} commands  ${name}: ${problem}`)
    } catch (error) {
      problems.push(`${name}: ${String(error)}`)
    }
  })
  const ordered = mutants.flatMap(({ name }) => {
    const replay = found.get(name)
    return replay === undefined ? [] : [[name, replay] as const]
  })
  fs.writeFileSync(path.join(root, replaysFile), `${JSON.stringify(Object.fromEntries(ordered), undefined, 2)}\n`)
  fs.writeFileSync(path.join(root, page), withTable(read(page), new Map(ordered)))
}

const replay = async (): Promise<void> => {
  const replays = readReplays()
  await forEach(chosen, async ({ name }: Mutant) => {
    const saved = replays.get(name)
    if (saved === undefined) {
      return void problems.push(`${name}: has no recorded conversation; run pnpm mutants --only "${name}"`)
    }
    for (const { law, problem } of Search.judge(saved.conversation).violations) {
      problems.push(`${name}: its recorded conversation breaks ${law} without the mutant: ${problem}`)
    }
    const { laws } = await runSearch(name, JSON.stringify(saved.conversation))
    if (!laws.includes(saved.law)) {
      problems.push(`${name}: its recorded conversation does not find it; run pnpm mutants --only "${name}"`)
    }
  })
}

await (isReplay ? replay() : search())

const seconds = Math.round((performance.now() - began) / 1000)
console.log(`${chosen.length} mutants, ${problems.length} problems, ${seconds} s`)
for (const problem of problems) console.log(problem)
if (problems.length > 0) process.exitCode = 1

/**
 * Checks that simulations find bugs: each mutant, a session, framing or replay with one bug, must be found.
 *
 * `pnpm mutants` searches for an input that finds each mutant, and prints it. It writes the inputs to
 * `mutants/replays.json` and the table to `docs/project/mutants.md`. With `--replay` it runs the stored inputs, and
 * writes nothing. It fails if an input no longer finds its mutant, or if it breaks a law without the mutant. `--only
 * NAME`, repeatable, searches for these mutants and keeps the other inputs. `--replay --sample 12 --seed 1` runs that
 * many inputs at random; the same seed selects the same ones.
 */
import * as fs from "node:fs"
import { availableParallelism } from "node:os"
import * as path from "node:path"
import { parseArgs } from "node:util"
import { orExit, UsageError, wholeNumber } from "../../../scripts/commandLine.ts"
import { sampleOf } from "../../../scripts/sample.ts"
import { read, root } from "../../../scripts/workspace.ts"
import { page, readReplays, type Replay, replaysFile, searchFor, withoutMutant, withTable } from "./mutants/replays.ts"
import { mutants } from "./mutants/sets.ts"

/** The time limit of the search for one mutant, in milliseconds. */
const searchTimeout = 600_000

/** The greatest number of commands, or steps, of the input that finds a mutant. */
const maxLength = 10

/** Runs an action for each item, with as many at a time as there are cores. */
const forEach = async <A>(items: ReadonlyArray<A>, action: (item: A) => Promise<void>): Promise<void> => {
  const waiting = items.values()
  const worker = async () => {
    for (const item of waiting) await action(item)
  }
  await Promise.all(Array.from({ length: availableParallelism() }, worker))
}

const { isReplay, only, sample, seed } = orExit(() => {
  const { values: { only, replay, sample, seed } } = parseArgs({
    options: {
      replay: { type: "boolean", default: false },
      only: { type: "string", multiple: true },
      sample: { type: "string" },
      seed: { type: "string", default: "1" }
    }
  })
  const unknown = only?.find((name) => !mutants.some((mutant) => mutant.name === name))
  if (unknown !== undefined) throw new UsageError(`--only takes the name of a mutant in a table, not "${unknown}"`)
  if (sample !== undefined && !replay) throw new UsageError("--sample needs --replay: a search is for all mutants")
  return { isReplay: replay, only, sample: sample === undefined ? undefined : wholeNumber("sample", sample), seed }
})
const selected = mutants.map(({ name }) => name).filter((name) => only === undefined || only.includes(name))
const chosen = sample === undefined ? selected : sampleOf(selected, { size: sample, seed, keyOf: (name) => name })

const problems: Array<string> = []
const began = performance.now()

const search = async (): Promise<void> => {
  const found = new Map<string, Replay>(only === undefined ? [] : readReplays())
  await forEach(chosen, async (name) => {
    try {
      const { input, laws: [law], problem, runs = 0 } = await searchFor(name, searchTimeout)
      if (law === undefined) return void problems.push(`${name}: not found in ${runs} runs`)
      const { length, violations } = await withoutMutant(name, input)
      for (const broken of violations) {
        return void problems.push(`${name}: its input breaks ${broken.law} without the mutant: ${broken.problem}`)
      }
      if (length > maxLength) problems.push(`${name}: needs ${length} commands, more than ${maxLength}`)
      found.set(name, { law, runs, input })
      console.log(`run ${String(runs).padStart(6)}  ${String(length).padStart(2)} commands  ${name}: ${problem}`)
    } catch (error) {
      problems.push(`${name}: ${String(error)}`)
    }
  })
  const ordered = mutants.flatMap(({ name }) => {
    const replay = found.get(name)
    return replay === undefined ? [] : [[name, replay] as const]
  })
  fs.writeFileSync(path.join(root, replaysFile), `${JSON.stringify(Object.fromEntries(ordered), undefined, 2)}\n`)
  fs.writeFileSync(path.join(root, page), await withTable(read(page), new Map(ordered)))
}

const replay = async (): Promise<void> => {
  const replays = readReplays()
  await forEach(chosen, async (name) => {
    const saved = replays.get(name)
    if (saved === undefined) {
      return void problems.push(`${name}: has no stored input; run pnpm mutants --only "${name}"`)
    }
    for (const { law, problem } of (await withoutMutant(name, saved.input)).violations) {
      problems.push(`${name}: its stored input breaks ${law} without the mutant: ${problem}`)
    }
    const { laws } = await searchFor(name, searchTimeout, saved.input)
    if (!laws.includes(saved.law)) {
      problems.push(`${name}: its stored input does not find it; run pnpm mutants --only "${name}"`)
    }
  })
}

await (isReplay ? replay() : search())

const seconds = Math.round((performance.now() - began) / 1000)
const sampled = sample === undefined ? "" : `, a sample by --seed ${seed}`
console.log(`${chosen.length} of ${mutants.length} mutants${sampled}, ${problems.length} problems, ${seconds} s`)
for (const problem of problems) console.log(problem)
if (problems.length > 0) process.exitCode = 1

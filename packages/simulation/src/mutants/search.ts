/**
 * Searches for an input that finds a mutant.
 *
 * `node search.ts NAME` searches; `node search.ts NAME INPUT` runs one conversation, trial or script. Prints the result
 * as one line of JSON.
 */
import * as Effect from "effect/Effect"
import { apply } from "./Mutant.ts"
import { named } from "./sets.ts"

const [name, input] = process.argv.slice(2)
const { load, mutant } = named(name)
apply(mutant)
Error.stackTraceLimit = 0

// Imported afterwards, so that the mutated source is loaded.
const { replay, run } = await load()

/** The number of inputs of one search. Inputs grow during a search, so several short ones run. */
const portion = 500
const portions = 200

const search = async () => {
  for (let index = 0; index < portions; index++) {
    const found = await Effect.runPromise(run({ runs: portion, seed: `1 ${index}` }))
    if (found === undefined) continue
    const { input, runs, violations } = found
    return {
      laws: violations.map(({ law }) => law),
      problem: violations[0]?.problem,
      runs: index * portion + runs,
      input
    }
  }
  return { laws: [], runs: portions * portion }
}

console.log(
  JSON.stringify(
    input === undefined ? await search() : { laws: (await replay(JSON.parse(input))).map(({ law }) => law) }
  )
)
// A mutant may have left a fiber running.
process.exit()

/**
 * Searches for a trial in which a mutant of the replay breaks a law of both eras.
 *
 * `node searchEras.ts NAME` searches; `node searchEras.ts NAME TRIAL` runs one trial. Prints the result as one line of
 * JSON.
 */
import * as Effect from "effect/Effect"
import { applyNamed } from "./apply.ts"
import { mutants } from "./eras.ts"

const [name, replay] = process.argv.slice(2)
applyNamed(mutants, name)
Error.stackTraceLimit = 0

// Imported afterwards, so that the mutated source is loaded.
const { Trial } = await import("../eras/Trial.ts")
const Search = await import("../eras/Search.ts")
const Schema = await import("effect/Schema")

/** The number of trials of one search. Scripts grow during a search, so several short ones run. */
const portion = 300
const portions = 20

const search = async () => {
  for (let index = 0; index < portions; index++) {
    const found = await Effect.runPromise(Search.run({ runs: portion, seed: `mutants ${index}` }))
    if (found !== undefined) return found
  }
  return undefined
}

if (replay === undefined) {
  const found = await search()
  console.log(JSON.stringify({ law: found?.violations[0]?.law, trial: found?.trial }))
} else {
  const trial = Schema.decodeUnknownSync(Trial)(JSON.parse(replay))
  console.log(JSON.stringify({ laws: Search.judge(trial).map(({ law }) => law) }))
}
// A mutant may have left a fiber running.
process.exit()

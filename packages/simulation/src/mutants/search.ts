/**
 * Searches for a conversation that finds a mutant.
 *
 * `node search.ts NAME` searches; `node search.ts NAME CONVERSATION` runs one conversation. Prints the result as one
 * line of JSON.
 */
import * as Effect from "effect/Effect"
import { applyNamed } from "./apply.ts"
import { mutants } from "./table.ts"

const [name, replay] = process.argv.slice(2)
applyNamed(mutants, name)
Error.stackTraceLimit = 0

// Imported afterwards, so that the mutated source is loaded.
const { Conversation } = await import("../conversations/Conversation.ts")
const Search = await import("../conversations/Search.ts")
const Schema = await import("effect/Schema")

/** The number of conversations of one search. Conversations grow during a search, so several short ones run. */
const portion = 500
const portions = 200

const search = async () => {
  for (let index = 0; index < portions; index++) {
    const found = await Effect.runPromise(Search.run({ runs: portion, seed: `1 ${index}` }))
    if (found !== undefined) return { ...found, runs: index * portion + found.runs }
  }
  return undefined
}

const began = performance.now()
if (replay === undefined) {
  const found = await search()
  const millis = Math.round(performance.now() - began)
  console.log(JSON.stringify({
    found: found !== undefined,
    millis,
    runs: found?.runs ?? portions * portion,
    law: found?.violations[0]?.law,
    problem: found?.violations[0]?.problem,
    conversation: found?.conversation
  }))
} else {
  const conversation = Schema.decodeUnknownSync(Conversation)(JSON.parse(replay))
  const laws = Search.judge(conversation).violations.map(({ law }) => law)
  console.log(JSON.stringify({ laws }))
}
// A mutant may have left a fiber running.
process.exit()

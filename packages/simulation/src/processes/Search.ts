/** A search for a script in which a law of a fleet does not hold, and for the simplest such one. */
import { Search } from "@effect-mcp/testing/internal"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as FleetLaws from "./FleetLaws.ts"
import { arbitrary } from "./Generator.ts"
import type { Event } from "./History.ts"
import * as Run from "./Run.ts"
import { Script } from "./Script.ts"

/** A script in which a law does not hold. */
export type Found = Search.Found<Script>

/** Runs a script, and returns the laws that do not hold. */
export const judge = async (script: Script): Promise<ReadonlyArray<Search.Violation>> => {
  try {
    return FleetLaws.violations(await Run.run(script))
  } catch (thrown) {
    return Search.unended(thrown)
  }
}

const decode = Schema.decodeUnknownSync(Script)

/** Does the same with a stored script. */
export const replay = (input: unknown): Promise<ReadonlyArray<Search.Violation>> => judge(decode(input))

/** Returns the number of commands of a stored script. */
export const lengthOf = (input: unknown): number => decode(input).commands.length

/** Runs scripts until a law does not hold. Returns `undefined` if all laws hold. */
export const run = (options: Search.Options): Effect.Effect<Found | undefined> =>
  Search.run(arbitrary, (script) => Effect.promise(() => judge(script)), options)

/** A script to describe. `runs` is the number of the one that a search has found. */
export type Described = Omit<Found, "runs"> & Partial<Pick<Found, "runs">>

const lineOf = (event: Event): string => {
  const { _tag, at, ...rest } = event
  const { client, process, ...details } = { client: undefined, process: undefined, ...rest }
  const owner = process !== undefined ? `process ${process}: ` : client === undefined ? "" : `client ${client}: `
  const text = Object.keys(details).length === 0 ? "" : ` ${JSON.stringify(details)}`
  return `${String(Math.round(at)).padStart(8)} ${owner}${_tag}${text}`
}

/** Describes the result of a search, with the script to repeat it and its history. */
export const describe = async ({ input, runs, violations }: Described): Promise<string> =>
  [
    ...violations.map(({ law, problem }) => `${law}: ${problem}`),
    ...violations.length === 0 ? ["no law broken"] : [],
    ...runs === undefined ? [] : [`found by script ${runs}; to repeat it, run pnpm simulate --fleet:`],
    JSON.stringify(input),
    // A lease is renewed twice a second, also while nothing else happens.
    ...(await Run.run(input)).events.filter(({ _tag }) => _tag !== "Renewed").map(lineOf)
  ].join("\n")

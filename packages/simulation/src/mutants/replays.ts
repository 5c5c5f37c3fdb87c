/** The stored inputs that find the mutants, and the table of them on the page `docs/project/mutants.md`. */

import type { Search } from "@effect-mcp/testing/internal"
import * as Schema from "effect/Schema"
import { execFile } from "node:child_process"
import * as path from "node:path"
import { promisify } from "node:util"
import { replaced } from "../../../../scripts/generated.ts"
import { read } from "../../../../scripts/workspace.ts"
import { named, sessions } from "./sets.ts"

const Replay = Schema.Struct({
  /** The law that the mutant breaks. */
  law: Schema.String,
  /** The number of inputs up to the one that found the mutant. */
  runs: Schema.Int,
  /** A conversation, a trial or a script. */
  input: Schema.Unknown
})

/** A stored input. */
export type Replay = typeof Replay.Type

export const replaysFile = "packages/simulation/src/mutants/replays.json"

/** Returns the stored inputs by the names of their mutants. */
export const readReplays = (): ReadonlyMap<string, Replay> =>
  new Map(Object.entries(
    Schema.decodeUnknownSync(Schema.Record(Schema.String, Replay))(JSON.parse(read(replaysFile)))
  ))

/** The result of the search for a mutant, or of a replay, which has only laws. */
const Outcome = Schema.Struct({
  laws: Schema.Array(Schema.String),
  problem: Schema.optionalKey(Schema.String),
  runs: Schema.optionalKey(Schema.Int),
  input: Schema.optionalKey(Schema.Unknown)
})

/** Runs the search for a mutant in a process of its own. With an input, runs only that. */
export const searchFor = async (name: string, timeout: number, input?: unknown): Promise<typeof Outcome.Type> => {
  const args = [
    path.join(import.meta.dirname, "search.ts"),
    name,
    ...input === undefined ? [] : [JSON.stringify(input)]
  ]
  const { stdout } = await promisify(execFile)(process.execPath, args, { timeout, maxBuffer: 2 ** 26 })
  // A mutant may print lines before the outcome.
  return Schema.decodeUnknownSync(Outcome)(JSON.parse(stdout.trim().split("\n").at(-1) ?? ""))
}

/** Returns the laws that a stored input breaks without the mutant, and the number of its commands. */
export const withoutMutant = async (
  name: string,
  input: unknown
): Promise<{ readonly violations: ReadonlyArray<Search.Violation>; readonly length: number }> => {
  const { lengthOf, replay } = await named(name).load()
  return { violations: await replay(input), length: lengthOf(input) }
}

export const page = "docs/project/mutants.md"

/** Returns the table of the mutants of sessions in Markdown. */
const tableOf = (replays: ReadonlyMap<string, Replay>, lengths: ReadonlyMap<string, number>): string => {
  const rows = sessions.mutants.flatMap(({ at, name }) => {
    const replay = replays.get(name)
    return replay === undefined
      ? []
      : [`| ${name} | \`${at.split(".")[0]}.ts\` | ${replay.law} | ${lengths.get(name)} | ${replay.runs} |`]
  })
  return [
    "| A session that … | Mutated file | Found by | Commands | Conversations |",
    "| --- | --- | --- | ---: | ---: |",
    ...rows
  ].join("\n")
}

/** Returns the page with its table replaced. */
export const withTable = async (text: string, replays: ReadonlyMap<string, Replay>): Promise<string> => {
  const { lengthOf } = await sessions.load()
  const lengths = new Map(sessions.mutants.map(({ name }) => [name, lengthOf(replays.get(name)?.input)]))
  return replaced(text, "mutants", tableOf(replays, lengths))
}

/**
 * The recorded trials that find the mutants of the replay.
 *
 * `node packages/simulation/src/mutants/eraReplays.ts` searches for a trial for each mutant, and writes them.
 */
import * as Schema from "effect/Schema"
import { execFileSync } from "node:child_process"
import * as fs from "node:fs"
import * as path from "node:path"
import { read, root } from "../../../../scripts/workspace.ts"
import { Trial } from "../eras/Trial.ts"
import { mutants } from "./eras.ts"

/** A recorded trial, and the law that the mutant breaks in it. */
interface Replay {
  readonly law: string
  readonly trial: Trial
}

const Replay: Schema.Codec<Replay> = Schema.Struct({ law: Schema.String, trial: Trial })

const decodeReplay = Schema.decodeUnknownSync(Replay)
const decodeReplays = Schema.decodeUnknownSync(Schema.Record(Schema.String, Replay))

const replaysFile = "packages/simulation/src/mutants/eraReplays.json"

/** The program that searches with a mutant. */
export const program = path.join(root, "packages/simulation/src/mutants/searchEras.ts")

/** Returns the result of the program: its last line, because a mutant may print others. */
export const reportOf = (stdout: string): unknown => JSON.parse(stdout.trim().split("\n").at(-1) ?? "")

/** Returns the recorded trials by the names of their mutants. */
export const readReplays = (): ReadonlyMap<string, Replay> =>
  new Map(Object.entries(decodeReplays(JSON.parse(read(replaysFile)))))

if (import.meta.main) {
  const replays = mutants.map(({ name }) => {
    const replay = decodeReplay(reportOf(execFileSync(process.execPath, [program, name], { encoding: "utf8" })))
    console.log(`${name}: ${replay.law}`)
    return [name, replay] as const
  })
  fs.writeFileSync(path.join(root, replaysFile), `${JSON.stringify(Object.fromEntries(replays), undefined, 2)}\n`)
}

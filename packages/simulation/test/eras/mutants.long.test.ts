/** The recorded trial of each mutant of the replay still finds it. */
import { assert, describe, it } from "@effect/vitest"
import * as Schema from "effect/Schema"
import { execFile } from "node:child_process"
import { promisify } from "node:util"
import * as Search from "../../src/eras/Search.ts"
import { program, readReplays, reportOf } from "../../src/mutants/eraReplays.ts"
import { mutants } from "../../src/mutants/eras.ts"

const Report = Schema.Struct({ laws: Schema.Array(Schema.String) })

const replays = readReplays()

const lawsBrokenBy = async (name: string, trial: string) => {
  const { stdout } = await promisify(execFile)(process.execPath, [program, name, trial], { timeout: 60_000 })
  return Schema.decodeUnknownSync(Report)(reportOf(stdout)).laws
}

describe("a server that", () => {
  for (const { name } of mutants) {
    it(`${name} is found`, { timeout: 60_000 }, async () => {
      const replay = replays.get(name)
      assert.isDefined(replay, "node packages/simulation/src/mutants/eraReplays.ts finds a trial and writes it down")
      if (replay === undefined) return
      // The trial breaks no law without the mutant.
      assert.deepStrictEqual(Search.judge(replay.trial), [])
      assert.include(await lawsBrokenBy(name, JSON.stringify(replay.trial)), replay.law)
    })
  }
})

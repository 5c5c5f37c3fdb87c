/** The recorded conversation of each mutant still finds it. */
import { assert, describe, it } from "@effect/vitest"
import * as Schema from "effect/Schema"
import { execFile } from "node:child_process"
import * as path from "node:path"
import { promisify } from "node:util"
import { read, root } from "../../../../scripts/workspace.ts"
import * as Search from "../../src/conversations/Search.ts"
import { readReplays } from "../../src/mutants/replays.ts"
import { page, withTable } from "../../src/mutants/report.ts"
import { mutants } from "../../src/mutants/table.ts"

const Report = Schema.Struct({ laws: Schema.Array(Schema.String) })

const replays = readReplays()
const program = path.join(root, "packages/simulation/src/mutants/search.ts")

/** The last line is the report; a mutant may print other lines before. */
const lawsBrokenBy = async (name: string, conversation: string): Promise<unknown> => {
  const { stdout } = await promisify(execFile)(process.execPath, [program, name, conversation], {
    timeout: 60_000,
    maxBuffer: 2 ** 26
  })
  return JSON.parse(stdout.trim().split("\n").at(-1) ?? "")
}

describe("a session that", () => {
  for (const { name } of mutants) {
    it(`${name} is found`, { timeout: 60_000 }, async () => {
      const replay = replays.get(name)
      assert.isDefined(replay, "pnpm mutants finds a conversation and writes it down")
      if (replay === undefined) return
      // The conversation breaks no law without the mutant.
      assert.deepStrictEqual(Search.judge(replay.conversation).violations, [])
      assert.isAtMost(replay.conversation.commands.length, 10)
      const { laws } = Schema.decodeUnknownSync(Report)(await lawsBrokenBy(name, JSON.stringify(replay.conversation)))
      assert.include(laws, replay.law)
    })
  }

  it("is in the table of docs/mutants.md", () => {
    assert.isAtLeast(mutants.length, 25)
    // The formatter pads the columns of a table.
    const unaligned = (text: string) => text.replaceAll(/[ -]+/g, " ")
    assert.strictEqual(unaligned(read(page)), unaligned(withTable(read(page), replays)))
  })
})

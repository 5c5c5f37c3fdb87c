/** The stored inputs of the mutants, and their table. `pnpm mutants --replay` shows that each finds its mutant. */
import { assert, describe, it } from "@effect/vitest"
import { read } from "../../../scripts/workspace.ts"
import { page, readReplays, withoutMutant, withTable } from "../src/mutants/replays.ts"
import { mutants } from "../src/mutants/sets.ts"

const replays = readReplays()

describe("the stored input of a session that", () => {
  for (const { name } of mutants) {
    it(`${name} is short, and breaks no law without the mutant`, async () => {
      const replay = replays.get(name)
      assert.isDefined(replay, "pnpm mutants finds an input and stores it")
      if (replay === undefined) return
      const { length, violations } = await withoutMutant(name, replay.input)
      assert.deepStrictEqual(violations, [])
      assert.isAtMost(length, 10)
    })
  }

  it("is mutated is in the table of docs/project/mutants.md", async () => {
    assert.isAtLeast(mutants.length, 40)
    // The formatter pads the columns of a table.
    const unaligned = (text: string) => text.replaceAll(/[ -]+/g, " ")
    assert.strictEqual(unaligned(read(page)), unaligned(await withTable(read(page), replays)))
  })
})

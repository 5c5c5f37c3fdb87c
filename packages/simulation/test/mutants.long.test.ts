/** The stored input of each mutant still finds it. */
import { assert, describe, it } from "@effect/vitest"
import { read } from "../../../scripts/workspace.ts"
import { page, readReplays, searchFor, withoutMutant, withTable } from "../src/mutants/replays.ts"
import { mutants } from "../src/mutants/sets.ts"

const replays = readReplays()

describe("a session that", () => {
  for (const { name } of mutants) {
    it(`${name} is found`, { timeout: 60_000 }, async () => {
      const replay = replays.get(name)
      assert.isDefined(replay, "pnpm mutants finds an input and stores it")
      if (replay === undefined) return
      // The input breaks no law without the mutant.
      const { length, violations } = await withoutMutant(name, replay.input)
      assert.deepStrictEqual(violations, [])
      assert.isAtMost(length, 10)
      assert.include((await searchFor(name, 60_000, replay.input)).laws, replay.law)
    })
  }

  it("is in the table of docs/mutants.md", async () => {
    assert.isAtLeast(mutants.length, 40)
    // The formatter pads the columns of a table.
    const unaligned = (text: string) => text.replaceAll(/[ -]+/g, " ")
    assert.strictEqual(unaligned(read(page)), unaligned(await withTable(read(page), replays)))
  })
})

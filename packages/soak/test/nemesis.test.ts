/**
 * A fleet of three real processes under faults, and what its clients see. Each request goes to a random process. The
 * clients and the checker of their history share nothing with the library; `nemesisChecker.test.ts` tests the checker.
 */
import { assert, describe, it } from "vitest"
import * as Checker from "../src/nemesis/Checker.ts"
import type { Inflicted } from "../src/nemesis/faults.ts"
import * as Nemesis from "../src/nemesis/nemesis.ts"
import { program } from "../src/nemesis/program.ts"
import type { StoreName } from "../src/nemesis/services.ts"

/** The time of one run on a busy machine. */
const timeout = 300_000

const seed = 1

/**
 * The faults over each store, and those that are aimed at bookings. Each fault takes seconds, so a run of the tests has
 * most of them once: `pnpm nemesis --store postgres` runs all of them over one store.
 */
const faults: ReadonlyArray<readonly [StoreName, ReadonlyArray<Inflicted>, ReadonlyArray<Nemesis.Aim>]> = [
  ["sqlite", ["kill", "terminate"], [["kill", "begun"], ["kill", "answering"]]],
  ["postgres", ["pause", "stall-store"], [["kill", "asked"], ["kill", "answered"]]],
  ["redis", ["cut-peers", "stall-peers", "restart-store"], []]
]

describe("a fleet of processes", { timeout }, () => {
  it.concurrent("three processes without common stores lose sessions: a fleet that does not work is seen", async () => {
    const options = { store: "memory", faults: [], millis: 500, seed } as const
    const { history } = await Nemesis.run({ ...options, program: await program })
    assert.include(Checker.check(history).map(({ rule }) => rule), "found")
  })

  for (const [store, kinds, aims] of faults) {
    // The first store is tested together with the memory, whose clients mostly wait for answers that do not come.
    const test = store === "sqlite" ? it.concurrent : it
    test(`keeps all rules while processes, connections and the database break (${store})`, async () => {
      const { history } = await Nemesis.run({ store, faults: kinds, aims, seed, program: await program })
      assert.deepStrictEqual(Checker.check(history).map(Checker.violationText), [])
    })
  }
})

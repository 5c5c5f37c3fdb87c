/** Generated programs of a supervised client, with restarts of its server as faults. */
import { assert, describe, it } from "@effect/vitest"
import * as Arbitrary from "effect/Arbitrary"
import * as Effect from "effect/Effect"
import { problems, type Program, programs } from "./support/Restarts.ts"

describe("a server that is killed, removed, stalled and changed in virtual time", () => {
  it.effect(
    "leaves each call with one end, carried out once or as often as it may be, and all lists current",
    () =>
      Effect.gen(function*() {
        const result = yield* Arbitrary.checkEffect(
          programs,
          (program: Program) => problems(program).length === 0,
          { runs: 300, size: 30, seed: 1, maxShrinks: 2_000 }
        )
        if (result._tag === "Falsified") {
          assert.fail(`${problems(result.shrunkInput).join("\n")}\n${JSON.stringify(result.shrunkInput)}`)
        }
        assert.strictEqual(result._tag, "Passed")
      }),
    60_000
  )
})

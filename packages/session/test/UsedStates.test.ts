/** The store of used states in memory. */
import { UsedStates } from "@effect-mcp/session"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import * as TestClock from "effect/testing/TestClock"

const minute = 60_000

describe("the used states in memory", () => {
  it.effect("[MRTR-10] are accepted once, by whichever principal", () =>
    Effect.gen(function*() {
      const { use } = UsedStates.makeMemory()
      assert.isTrue(yield* use("a", minute, "ada"))
      assert.isFalse(yield* use("a", minute, "ada"))
      assert.isFalse(yield* use("a", minute, undefined))
      assert.isTrue(yield* use("b", minute, undefined))
    }))

  it.effect("of one principal leave room for others, and are forgotten when they expire", () =>
    Effect.gen(function*() {
      const { use } = UsedStates.makeMemory({ capacity: 8 })
      let uses = 0
      const flood = (principal: string | undefined) =>
        Effect.gen(function*() {
          let accepted = 0
          for (let count = 0; count < 20; count++) {
            const used = yield* Effect.result(use(`${++uses}`, minute, principal))
            if (Result.isSuccess(used) && used.success) accepted++
          }
          return accepted
        })
      assert.deepStrictEqual([yield* flood("ada"), yield* flood(undefined), yield* flood("bob")], [4, 2, 1])
      const { message } = yield* Effect.map(
        Effect.flip(use("x", minute, "ada")),
        ({ cause }) => cause instanceof Error ? cause : new Error("no cause")
      )
      assert.include(message, "7 of 8 states are remembered already, 4 of them of this principal")
      yield* TestClock.adjust(minute - 1)
      assert.isTrue(Result.isFailure(yield* Effect.result(use("too early", 2 * minute, "ada"))))
      yield* TestClock.adjust(1)
      assert.isTrue(yield* use("in time", 2 * minute, "ada"))
    }))

  it.effect("are searched for expired ones once a second, however many states a client without room sends", () =>
    Effect.gen(function*() {
      const { use } = UsedStates.makeMemory({ capacity: 100 })
      for (let count = 0; count < 50; count++) yield* use(`${count}`, minute + count, "ada")
      yield* TestClock.adjust(minute)
      const isAccepted = (id: string) => Effect.map(Effect.result(use(id, 2 * minute, "ada")), Result.isSuccess)
      assert.deepStrictEqual([yield* isAccepted("first"), yield* isAccepted("second")], [true, false])
      // Ten more have expired: without the pause, each state would cause a search of the table.
      yield* TestClock.adjust(10)
      assert.isFalse(yield* isAccepted("third"))
      yield* TestClock.adjust(990)
      assert.isTrue(yield* isAccepted("fourth"))
    }))
})

/** Turns of the newest of those who wait. */
import { assert, describe, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import { settled, start } from "../../../session/test/support/sessions.ts"
import { NewestTurn } from "../../src/internal/server/NewestTurn.ts"

describe("NewestTurn", () => {
  it.effect("runs the newest effect of a key, and an older one again when the newer ones have ended", () =>
    Effect.gen(function*() {
      const turns = new NewestTurn()
      const seen: Array<string> = []
      const gates = new Map<string, Deferred.Deferred<void>>()
      const waiting = (name: string, key = "key") =>
        Effect.gen(function*() {
          const gate = yield* Deferred.make<void>()
          gates.set(name, gate)
          const effect = Effect.suspend(() => {
            seen.push(`${name} runs`)
            return Effect.as(
              Effect.onInterrupt(Deferred.await(gate), () => Effect.sync(() => seen.push(`${name} stops`))),
              name
            )
          })
          const fiber = yield* start(turns.run(key, effect))
          yield* settled
          return fiber
        })
      const one = yield* waiting("one")
      const two = yield* waiting("two")
      const other = yield* waiting("other", "another key")
      const three = yield* waiting("three")
      assert.deepStrictEqual(seen, [
        "one runs",
        "one stops",
        "two runs",
        "other runs",
        "two stops",
        "three runs"
      ])
      // One that does not have its turn leaves without an effect on the others.
      yield* Fiber.interrupt(two)
      yield* settled
      assert.strictEqual(seen.length, 6)
      yield* Fiber.interrupt(three)
      yield* settled
      assert.deepStrictEqual(seen.slice(6), ["three stops", "one runs"])
      for (const name of ["one", "other"]) {
        const gate = gates.get(name)
        if (gate !== undefined) yield* Deferred.succeed(gate, undefined)
      }
      assert.deepStrictEqual([yield* Fiber.join(one), yield* Fiber.join(other)], ["one", "other"])
      assert.strictEqual(turns.size, 0)
    }))
})

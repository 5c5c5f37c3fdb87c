/** The lease of a process, over a store that executes late. */
import { SessionOwners } from "@effect-mcp/session"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as TestClock from "effect/testing/TestClock"

describe("the lease of a process", () => {
  it.effect("a renewal that times out and is executed later hides no session that was lost", () =>
    Effect.gen(function*() {
      const store = yield* SessionOwners.makeStoreInMemory
      const late: Array<Effect.Effect<unknown, SessionOwners.SessionOwnersError>> = []
      let isStalled = false
      const stalling: SessionOwners.OwnerStore = {
        renew: (lease) =>
          Effect.suspend(() => {
            if (!isStalled) return store.renew(lease)
            late.push(Effect.suspend(() => store.renew(lease)))
            return Effect.never
          }),
        retire: store.retire,
        locate: store.locate,
        claim: store.claim,
        release: store.release,
        remove: store.remove,
        lost: store.lost
      }
      const one = yield* SessionOwners.make(stalling, { address: "http://10.0.0.1:3000" })
      const two = yield* SessionOwners.make(store, { address: "http://10.0.0.2:3000" })
      const lost: Array<readonly [session: string, epoch: number]> = []
      yield* one.onLost((session, epoch) => {
        lost.push([session, epoch])
      })
      yield* Effect.all([one.awaitLease, two.awaitLease])
      assert.strictEqual(yield* one.claim("s", 0), 1)
      isStalled = true
      yield* TestClock.adjust("3 seconds")
      assert.isFalse(one.isAlive())
      assert.strictEqual(yield* two.claim("s", 1), 2)
      isStalled = false
      for (const renewal of late) yield* renewal
      assert.deepStrictEqual(lost, [])
      yield* TestClock.adjust("2 seconds")
      assert.isTrue(one.isAlive())
      assert.deepStrictEqual(lost, [["s", 1]])
    }).pipe(Effect.scoped))
})

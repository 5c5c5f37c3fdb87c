import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as ReconnectDelay from "../../../../../src/internal/http/client/streamable/ReconnectDelay.ts"

const make = (options: Partial<Parameters<typeof ReconnectDelay.make>[0]> = {}) =>
  ReconnectDelay.make({
    initialMillis: 1_000,
    factor: 1.5,
    maxMillis: 30_000,
    maxAttempts: 5,
    maxRenewals: 8,
    ...options
  })

const none = { withoutEvent: 0, withoutMessage: 0, retryMillis: undefined }

describe("the delay before a stream is reconnected", () => {
  it("[SHS-06] is at least what the server asks for", () => {
    assert.strictEqual(make().millis({ ...none, retryMillis: 7_000 }), 7_000)
    assert.strictEqual(make().millis({ ...none, retryMillis: 7_000, withoutEvent: 1 }), 7_000)
    assert.strictEqual(make().millis({ ...none, retryAfterMillis: 10_000, retryMillis: 7_000 }), 10_000)
  })

  it("is 100 ms at least and an hour at most, whatever the server asks for", () => {
    assert.strictEqual(make().millis({ ...none, retryMillis: 0 }), 100)
    for (const millis of [3_600_001, Number.MAX_SAFE_INTEGER]) {
      assert.strictEqual(make().millis({ ...none, retryMillis: millis }), 3_600_000)
    }
    assert.strictEqual(make().millis({ ...none, retryAfterMillis: Number.POSITIVE_INFINITY }), 3_600_000)
  })

  it("may be as short as the program's own first delay", () => {
    assert.strictEqual(make({ initialMillis: 2 }).millis({ ...none, retryMillis: 0 }), 2)
  })

  it("grows up to the program's own first delay while answers bring no message, where the server asks for less", () => {
    const delays = [0, 1, 2, 5, 6, 1_000].map((withoutMessage) =>
      make().millis({ ...none, withoutMessage, retryMillis: 0 })
    )
    assert.deepStrictEqual(delays.map(Math.round), [100, 150, 225, 759, 1_000, 1_000])
    assert.strictEqual(make().millis({ ...none, withoutMessage: 1_000, retryMillis: 2_000 }), 2_000)
  })
})

describe("the delay before a session is opened anew", () => {
  it.effect("grows, is random by a fifth, and has the program's bound", () =>
    Effect.gen(function*() {
      for (const [inVain, millis] of [[1, 1_000], [2, 1_500], [100, 30_000]] as const) {
        const delays = yield* Effect.replicateEffect(make().renewalMillis(inVain), 20)
        for (const delay of delays) {
          assert.isAtLeast(delay, 0.8 * millis)
          assert.isAtMost(delay, 1.2 * millis)
        }
        assert.isAbove(new Set(delays).size, 1)
      }
    }))
})

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

const firstAttempt = { withoutEvent: 0, withoutMessage: 0, retryMillis: undefined }

describe("the delay before a stream is reconnected", () => {
  it("[SHS-06] is at least the server's delay", () => {
    assert.strictEqual(make().millis({ ...firstAttempt, retryMillis: 7_000 }), 7_000)
    assert.strictEqual(make().millis({ ...firstAttempt, retryMillis: 7_000, withoutEvent: 1 }), 7_000)
    assert.strictEqual(make().millis({ ...firstAttempt, retryAfterMillis: 10_000, retryMillis: 7_000 }), 10_000)
  })

  it("is at least 100 ms and at most an hour, whatever delay the server sends", () => {
    assert.strictEqual(make().millis({ ...firstAttempt, retryMillis: 0 }), 100)
    for (const millis of [3_600_001, Number.MAX_SAFE_INTEGER]) {
      assert.strictEqual(make().millis({ ...firstAttempt, retryMillis: millis }), 3_600_000)
    }
    assert.strictEqual(make().millis({ ...firstAttempt, retryAfterMillis: Number.POSITIVE_INFINITY }), 3_600_000)
  })

  it("is shorter than 100 ms only if initialInterval is", () => {
    assert.strictEqual(make({ initialMillis: 2 }).millis({ ...firstAttempt, retryMillis: 0 }), 2)
  })

  it("grows up to initialInterval while responses contain no message, if the server's delay is shorter", () => {
    const delays = [0, 1, 2, 5, 6, 1_000].map((withoutMessage) =>
      make().millis({ ...firstAttempt, withoutMessage, retryMillis: 0 })
    )
    assert.deepStrictEqual(delays.map(Math.round), [100, 150, 225, 759, 1_000, 1_000])
    assert.strictEqual(make().millis({ ...firstAttempt, withoutMessage: 1_000, retryMillis: 2_000 }), 2_000)
  })
})

describe("the delay before a session is renewed", () => {
  it.effect("grows up to maxInterval, and varies at random by a fifth", () =>
    Effect.gen(function*() {
      for (const [useless, millis] of [[1, 1_000], [2, 1_500], [100, 30_000]] as const) {
        const delays = yield* Effect.replicateEffect(make().renewalMillis(useless), 20)
        for (const delay of delays) {
          assert.isAtLeast(delay, 0.8 * millis)
          assert.isAtMost(delay, 1.2 * millis)
        }
        assert.isAbove(new Set(delays).size, 1)
      }
    }))
})

/** Properties of every store of rates, by the clock of its database. */
import { assert } from "@effect/vitest"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as RateLimiter from "effect/persistence/RateLimiter"

const outcome = <A>(consume: Effect.Effect<A, RateLimiter.RateLimiterError>) =>
  Effect.catch(Effect.as(consume, "taken"), ({ reason }) => Effect.succeed(reason._tag))

/** Uses up a window and a bucket, and waits for the next window and the next token. */
export const limits = (algorithm: "fixed-window" | "token-bucket", key: string) =>
  Effect.gen(function*() {
    const limiter = yield* RateLimiter.RateLimiter
    const consume = limiter.consume({ algorithm, key, limit: 3, window: "600 millis" })
    const first = yield* consume
    assert.strictEqual(first.remaining, 2)
    const rest = yield* Effect.replicateEffect(outcome(consume), 4)
    assert.deepStrictEqual(rest, ["taken", "taken", "RateLimitExceeded", "RateLimitExceeded"])
    assert.strictEqual(
      yield* outcome(limiter.consume({ algorithm, key: `${key} other`, limit: 3, window: "1 hour" })),
      "taken"
    )
    yield* Effect.sleep("650 millis")
    assert.strictEqual(yield* outcome(consume), "taken")
  })

/** Takes more than a window or a bucket has, and gets a delay. */
export const delays = (algorithm: "fixed-window" | "token-bucket", key: string) =>
  Effect.gen(function*() {
    const limiter = yield* RateLimiter.RateLimiter
    const consume = limiter.consume({ algorithm, key, limit: 2, window: "1 hour", onExceeded: "delay" })
    const taken = yield* Effect.replicateEffect(consume, 5)
    const minutes = taken.map(({ delay }) => Math.round(Duration.toMinutes(delay)))
    assert.deepStrictEqual(minutes, algorithm === "fixed-window" ? [0, 0, 60, 60, 120] : [0, 0, 30, 60, 90])
  })

/** Learns a limit from the answers of a service. */
export const adapts = (key: string) =>
  Effect.gen(function*() {
    const limiter = yield* RateLimiter.RateLimiter
    const options = { key, tokens: 1, fallbackLimit: 10, fallbackWindow: Duration.minutes(1) }
    assert.strictEqual((yield* limiter.adaptiveConsume(options)).phase, "inactive")
    const rejected = { key, tokens: 1, status: 429, retryAfter: Duration.seconds(2) }
    yield* limiter.adaptiveFeedback({ ...rejected, epoch: 0 })
    assert.strictEqual((yield* limiter.adaptiveConsume(options)).phase, "cooldown")
    yield* Effect.sleep("2100 millis")
    const learning = yield* Effect.replicateEffect(limiter.adaptiveConsume(options), 3)
    assert.deepStrictEqual(learning.map(({ epoch, phase }) => [phase, epoch]), [
      ["learning", 1],
      ["learning", 1],
      ["learning", 1]
    ])
    yield* limiter.adaptiveFeedback({ ...rejected, epoch: 1, retryAfter: Duration.hours(1) })
    assert.strictEqual((yield* limiter.adaptiveConsume(options)).phase, "learned")
  })

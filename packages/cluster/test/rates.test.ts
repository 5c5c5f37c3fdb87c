import { McpStores } from "@effect-mcp/cluster"
import { assert, describe, it } from "@effect/vitest"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as RateLimiter from "effect/persistence/RateLimiter"
import * as TestClock from "effect/testing/TestClock"
import { sqlite } from "./support/databases.ts"
import { adapts, delays, limits } from "./support/rates.ts"

describe("rates in SQLite", () => {
  const layer = RateLimiter.layer.pipe(Layer.provide(McpStores.layerSql()), Layer.provide(sqlite))

  for (const algorithm of ["fixed-window", "token-bucket"] as const) {
    it.live(`a ${algorithm} rejects what exceeds it, until the time has come`, () =>
      Effect.provide(limits(algorithm, "a"), layer))

    it.live(`a ${algorithm} delays what exceeds it`, () => Effect.provide(delays(algorithm, "a"), layer))
  }

  it.live("a rate adapts to the answers of a service", () => Effect.provide(adapts("a"), layer))
})

describe("rates in memory", () => {
  it.effect("are those of Effect's store, step by step", () =>
    Effect.gen(function*() {
      const ours = yield* Effect.provide(RateLimiter.RateLimiterStore, McpStores.layerMemory())
      const theirs = yield* Effect.provide(RateLimiter.RateLimiterStore, RateLimiter.layerStoreMemory)
      let seed = 1
      const below = (bound: number) => (seed = (seed * 48_271) % 2_147_483_647) % bound
      for (let step = 0; step < 2_000; step++) {
        const key = `k${below(3)}`
        const tokens = below(4)
        const refillRate = Duration.millis(100)
        const feedback = {
          key,
          tokens,
          epoch: below(4),
          status: below(4) > 0 ? 429 : 200,
          retryAfter: Duration.seconds(1)
        }
        const perform = (store: RateLimiter.RateLimiterStore["Service"]): Effect.Effect<unknown, unknown> => {
          switch (step % 4) {
            case 0:
              return store.fixedWindow({ key, tokens, refillRate, limit: step % 8 === 0 ? undefined : 5 })
            case 1:
              return store.tokenBucket({ key, tokens, refillRate, limit: 5, allowOverflow: step % 8 === 1 })
            case 2:
              return store.adaptiveConsume({ key, tokens, fallbackLimit: 5, fallbackWindow: Duration.seconds(1) })
            default:
              return store.adaptiveFeedback(feedback)
          }
        }
        assert.deepStrictEqual(yield* perform(ours), yield* perform(theirs), `step ${step}`)
        yield* TestClock.adjust(below(300))
      }
    }))

  it.effect("are bounded: the least recently used key starts anew", () =>
    Effect.gen(function*() {
      const store = yield* Effect.provide(
        RateLimiter.RateLimiterStore,
        McpStores.layerMemory({ rates: { maxKeys: 2 } })
      )
      const take = (key: string) =>
        Effect.map(
          store.tokenBucket({ key, tokens: 1, limit: 5, refillRate: Duration.hours(1), allowOverflow: false }),
          ([left]) => left
        )
      assert.deepStrictEqual(yield* Effect.forEach(["a", "b", "a", "c", "a", "b"], take), [4, 4, 3, 4, 2, 4])
    }))
})

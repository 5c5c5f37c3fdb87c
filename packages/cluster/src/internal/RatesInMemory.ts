/** The store of Effect's rate limiter, in memory and bounded. That of Effect keeps every key for ever. */
import { LeastRecentlyUsed } from "@effect-mcp/session/internal"
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import type * as RateLimiter from "effect/persistence/RateLimiter"
import * as AdaptiveRate from "./AdaptiveRate.ts"

/** A fixed window, with its uses and its end, or a bucket, with its tokens and the time of its last refill. */
interface Counted {
  readonly value: number
  readonly at: number
}

/** Makes a store. A key that makes room for another one starts anew. */
export const make = (maxKeys: number): RateLimiter.RateLimiterStore["Service"] => {
  const bounds = { size: maxKeys, weight: maxKeys }
  const windows = LeastRecentlyUsed.make<Counted>(bounds)
  const buckets = LeastRecentlyUsed.make<Counted>(bounds)
  const states = LeastRecentlyUsed.make<AdaptiveRate.State>(bounds)

  return {
    fixedWindow: ({ key, limit, refillRate, tokens }) =>
      Effect.map(Clock.currentTimeMillis, (now) => {
        const known = windows.get(key)
        const { at, value } = known === undefined || known.at <= now ? { value: 0, at: now } : known
        const count = value + tokens
        if (limit !== undefined && limit !== 0 && count > limit) return [count, at - now] as const
        const end = at + Duration.toMillis(refillRate) * tokens
        windows.set(key, { value: count, at: end }, 1)
        return [count, end - now] as const
      }),
    tokenBucket: ({ allowOverflow, key, limit, refillRate, tokens }) =>
      Effect.map(Clock.currentTimeMillis, (now) => {
        const millis = Duration.toMillis(refillRate)
        const { at, value } = buckets.get(key) ?? { value: limit, at: now }
        const gained = Math.max(0, Math.floor((now - at) / millis))
        const available = Math.min(limit, value + gained)
        const refilledAt = available >= limit ? now : at + gained * millis
        const left = available - tokens
        buckets.set(key, { value: allowOverflow || left >= 0 ? left : available, at: refilledAt }, 1)
        return [left, Math.max(0, now - refilledAt)] as const
      }),
    adaptiveConsume: (options) =>
      Effect.map(Clock.currentTimeMillis, (now) => {
        const [result, state] = AdaptiveRate.consume(states.get(options.key), options, now)
        if (state !== undefined) states.set(options.key, state, 1)
        return result
      }),
    adaptiveFeedback: (options) =>
      Effect.map(Clock.currentTimeMillis, (now) => {
        const state = AdaptiveRate.answered(states.get(options.key), options, now)
        if (state !== undefined) states.set(options.key, state, 1)
      })
  }
}

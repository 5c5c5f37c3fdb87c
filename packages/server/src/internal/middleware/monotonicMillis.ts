/** The monotonic clock. */

import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"

/** Returns milliseconds for measuring durations in this process. Unlike the wall clock, this clock never jumps. */
export const monotonicMillis: Effect.Effect<number> = Clock.clockWith((clock) =>
  Effect.sync(() => Number(clock.monotonicTimeNanosUnsafe()) / 1_000_000)
)

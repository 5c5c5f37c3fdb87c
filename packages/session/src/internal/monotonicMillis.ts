/** The monotonic clock. */
import type * as Clock from "effect/Clock"

/** Returns milliseconds for measuring durations. Unlike the wall clock, this clock never jumps. */
export const monotonicMillis = (clock: Clock.Clock): number => Number(clock.monotonicTimeNanosUnsafe()) / 1_000_000

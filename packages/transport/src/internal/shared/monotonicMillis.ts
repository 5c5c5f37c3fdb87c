import type * as Clock from "effect/Clock"

/**
 * Milliseconds on a clock that never jumps, as the wall clock does when it is set. For durations only: it has no date.
 */
export const monotonicMillis = (clock: Clock.Clock): number => Number(clock.monotonicTimeNanosUnsafe()) / 1_000_000

/** A clock that a test moves forward. */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"

export interface ShiftedClock extends Clock.Clock {
  /** Moves the clock forward. */
  readonly shift: (millis: number) => void
}

/** Returns a clock that shows the real time, and what it was moved by. */
export const make: Effect.Effect<ShiftedClock> = Effect.map(Clock.Clock, (real) => {
  let offset = 0
  const millis = () => real.currentTimeMillisUnsafe() + offset
  return {
    ...real,
    currentTimeMillisUnsafe: millis,
    currentTimeMillis: Effect.sync(millis),
    sleep: (duration) => real.sleep(duration),
    shift: (by) => {
      offset += by
    }
  }
})

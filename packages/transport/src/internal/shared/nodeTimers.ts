/**
 * Waiting by the machine's own clock. Processes and pipes do not live on an Effect `Clock`: a program that runs on
 * `TestClock` must still not hang on a child that will not end.
 */
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"

/** The longest time a timer of Node can wait; beyond it, it would fire at once. */
const longestMillis = 2_147_483_647

/** This long for a timer of Node. What is infinite is 25 days. */
export const timerMillis = (duration: Duration.Input): number => Math.min(Duration.toMillis(duration), longestMillis)

/** Waits this long. An infinite duration waits for 25 days. */
export const delay = (duration: Duration.Input): Effect.Effect<void> =>
  Effect.callback<void>((resume) => {
    const timer = setTimeout(() => resume(Effect.void), timerMillis(duration))
    return Effect.sync(() => clearTimeout(timer))
  })

/** Waits for the effect, but no longer than this; then the effect is interrupted. It may run in a finalizer. */
export const atMost = <A, E, R>(effect: Effect.Effect<A, E, R>, duration: Duration.Input): Effect.Effect<void, E, R> =>
  Effect.raceFirst(Effect.asVoid(effect), delay(duration))

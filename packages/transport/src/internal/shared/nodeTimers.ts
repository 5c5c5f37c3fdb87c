/**
 * The timers of Node, for waits on processes and sockets.
 *
 * Those do not follow an Effect `Clock`: on `TestClock`, too, a program must not hang on a child that does not exit.
 */
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"

/** The longest delay of a Node timer. With a longer one, it would fire at once. */
const longestMillis = 2_147_483_647

/** Returns a duration for a timer. An infinite one is 25 days. */
export const timerMillis = (duration: Duration.Input): number => Math.min(Duration.toMillis(duration), longestMillis)

/** Waits for a duration. An infinite one is 25 days. */
export const delay = (duration: Duration.Input): Effect.Effect<void> =>
  Effect.callback<void>((resume) => {
    const timer = setTimeout(() => resume(Effect.void), timerMillis(duration))
    return Effect.sync(() => clearTimeout(timer))
  })

/** Waits for an effect, and interrupts it after the duration. It may run in a finalizer. */
export const atMost = <A, E, R>(effect: Effect.Effect<A, E, R>, duration: Duration.Input): Effect.Effect<void, E, R> =>
  Effect.raceFirst(Effect.asVoid(effect), delay(duration))

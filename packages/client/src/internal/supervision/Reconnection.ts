/** The delays between attempts to connect. */

import type * as Cause from "effect/Cause"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Pull from "effect/Pull"
import * as Random from "effect/Random"
import * as Schedule from "effect/Schedule"

/** The first delay and the longest one, in milliseconds. */
const delays = { first: 500, longest: 30_000 }

/**
 * The default schedule: delays that double from half a second to 30 seconds. Each is shortened by up to half at random,
 * so that the clients of a server that restarts do not return at the same time. `Schedule.jittered` would do this
 * around the longest delay, and exceed it.
 */
export const defaultSchedule: Schedule.Schedule<unknown> = Schedule.exponential(delays.first).pipe(
  Schedule.modifyDelay(({ duration }) =>
    Effect.map(
      Random.next,
      (random) =>
        Duration.millis(Math.round(Math.min(Duration.toMillis(duration), delays.longest) * (0.5 + random / 2)))
    )
  )
)

/** The delays of one schedule, from its beginning. */
export interface Delays {
  /** Returns the next delay in milliseconds, or `undefined` if the schedule has ended. */
  readonly next: Effect.Effect<number | undefined>
}

/**
 * Begins a schedule. `Schedule` has no operation that resets one, so that each beginning is another value. A schedule
 * that dies counts as one that has ended: otherwise the client would say for ever that it connects.
 */
export const begin = (schedule: Schedule.Schedule<unknown>): Effect.Effect<Delays> => {
  const died = (cause: Cause.Cause<unknown>): Effect.Effect<undefined> =>
    Effect.as(Effect.logError("the schedule of the option reconnect died, and counts as ended", cause), undefined)
  return Effect.catchCause(
    Effect.map(Schedule.toStep(schedule), (step) => ({
      next: Effect.catchCause(
        Effect.clockWith((clock) =>
          Pull.matchEffect(step(clock.currentTimeMillisUnsafe(), undefined), {
            onSuccess: ([, delay]) => Effect.succeed(Duration.toMillis(delay)),
            onFailure: Effect.failCause,
            onDone: () => Effect.undefined
          })
        ),
        died
      )
    })),
    (cause) => Effect.succeed({ next: died(cause) })
  )
}

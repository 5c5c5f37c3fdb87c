/** The fiber that sweeps a database from time to time. */
import * as Effect from "effect/Effect"
import * as Random from "effect/Random"
import type * as Scope from "effect/Scope"
import type * as SqlError from "effect/sql/SqlError"

/** The longest time of one sweep. */
const deadline = "2 minutes"

/**
 * Sweeps until the scope closes, at random times, so that the processes of a server take turns. A failure is logged
 * once until a sweep succeeds again.
 */
export const start = (
  sweep: Effect.Effect<void, SqlError.SqlError>,
  intervalMillis: number
): Effect.Effect<void, never, Scope.Scope> =>
  Effect.gen(function*() {
    let isAway = false
    const attempt = Effect.matchCauseEffect(Effect.timeout(sweep, deadline), {
      onFailure: (cause) => {
        if (isAway) return Effect.void
        isAway = true
        return Effect.logWarning("the stores were not swept; the next failures are not logged", cause)
      },
      onSuccess: () =>
        Effect.sync(() => {
          isAway = false
        })
    })
    const wait = Effect.flatMap(Random.next, (share) => Effect.sleep(intervalMillis * (0.5 + share)))
    yield* Effect.forkScoped(Effect.forever(Effect.andThen(wait, attempt)))
  })

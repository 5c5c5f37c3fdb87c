/** A fiber that runs a check at an interval, and exists only while there is something to check. */
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import type * as Scope from "effect/Scope"

/**
 * Returns a function that starts the loop, unless it runs. The loop ends after a check that returns `false`, and with
 * the scope. The check does not suspend after it has decided: a start in between would be lost, because the loop still
 * counts as running.
 */
export const make = Effect.fnUntraced(function*(
  intervalMillis: number,
  check: Effect.Effect<boolean>
): Effect.fn.Return<() => void, never, Scope.Scope> {
  const scope = yield* Effect.scope
  const runFork = Effect.runForkWith(yield* Effect.context<never>())
  let isRunning = false
  const loop = Effect.whileLoop({
    while: () => isRunning,
    body: () => Effect.andThen(Effect.sleep(intervalMillis), check),
    step: (isNeeded) => {
      isRunning = isNeeded
    }
  })
  return () => {
    if (isRunning) return
    isRunning = true
    Fiber.runIn(runFork(loop), scope)
  }
})

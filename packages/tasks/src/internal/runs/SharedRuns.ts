/** Effects that many callers need at the same time. */

import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"

interface Run<A, E> {
  readonly fiber: Fiber.Fiber<A, E>
  callers: number
}

/** Runs an effect once for all callers that ask for it at the same time. The last of them interrupts it. */
export class SharedRuns<A, E> {
  readonly #running = new Map<string, Run<A, E>>()

  /** The number of effects that run. */
  get size(): number {
    return this.#running.size
  }

  /** Runs the effect, or waits for the end of the one that runs by this key. */
  run(key: string, effect: Effect.Effect<A, E>): Effect.Effect<A, E> {
    return Effect.acquireUseRelease(
      Effect.suspend(() => {
        const known = this.#running.get(key)
        return known === undefined ? this.#start(key, effect) : Effect.sync(() => {
          known.callers++
          return known
        })
      }),
      ({ fiber }) => Fiber.join(fiber),
      (run) =>
        Effect.sync(() => {
          run.callers--
          if (run.callers > 0) return
          this.#end(key, run)
          run.fiber.interruptUnsafe()
        })
    )
  }

  #start(key: string, effect: Effect.Effect<A, E>): Effect.Effect<Run<A, E>> {
    return Effect.map(Effect.forkDetach(effect, { startImmediately: true }), (fiber) => {
      const run = { fiber, callers: 1 }
      this.#running.set(key, run)
      fiber.addObserver(() => this.#end(key, run))
      return run
    })
  }

  #end(key: string, run: Run<A, E>): void {
    if (this.#running.get(key) === run) this.#running.delete(key)
  }
}

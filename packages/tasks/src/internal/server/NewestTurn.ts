/** Turns that the newest of those who wait has. */

import * as Effect from "effect/Effect"
import * as Latch from "effect/Latch"

/** One who waits. Its turn ends when a newer one comes, and begins again when that one leaves. */
interface Waiter {
  readonly turn: Latch.Latch
  readonly ended: Latch.Latch
}

/**
 * Lets only the newest of several effects of one key run. An older one is interrupted, and runs again when the newer
 * ones have ended. The oldest first would not do: its client may be gone, and the server does not know yet.
 */
export class NewestTurn {
  readonly #waiters = new Map<string, Array<Waiter>>()

  /** The number of keys with effects. */
  get size(): number {
    return this.#waiters.size
  }

  run<A, E, R>(key: string, effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> {
    return Effect.acquireUseRelease(
      Effect.sync(() => this.#enter(key)),
      ({ ended, turn }) => {
        const attempt: Effect.Effect<A, E, R> = Effect.suspend(() => {
          Latch.closeUnsafe(ended)
          const outcome = Effect.raceFirst(
            Effect.map(effect, (value) => ({ value })),
            Effect.as(Latch.await(ended), undefined)
          )
          return Effect.flatMap(
            Effect.andThen(Latch.await(turn), outcome),
            (outcome) => outcome === undefined ? attempt : Effect.succeed(outcome.value)
          )
        })
        return attempt
      },
      (own) => Effect.sync(() => this.#leave(key, own))
    )
  }

  #enter(key: string): Waiter {
    const waiters = this.#waiters.get(key) ?? []
    const before = waiters.at(-1)
    if (before !== undefined) {
      Latch.closeUnsafe(before.turn)
      Latch.openUnsafe(before.ended)
    }
    const own: Waiter = { turn: Latch.makeUnsafe(true), ended: Latch.makeUnsafe(false) }
    waiters.push(own)
    this.#waiters.set(key, waiters)
    return own
  }

  #leave(key: string, own: Waiter): void {
    const others = (this.#waiters.get(key) ?? []).filter((waiter) => waiter !== own)
    const newest = others.at(-1)
    if (newest === undefined) {
      this.#waiters.delete(key)
      return
    }
    this.#waiters.set(key, others)
    Latch.openUnsafe(newest.turn)
  }
}

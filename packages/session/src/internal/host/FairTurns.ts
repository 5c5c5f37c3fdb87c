/** Turns of calls, of which a few run at a time. Clients take turns, so that a flood of one does not starve others. */

import * as Effect from "effect/Effect"

/** A call that waits, and begins when this is called. */
type Waiter = () => void

/** The turns of calls. A client whose calls do not wait takes no memory. */
export class FairTurns {
  #free: number
  /** The calls that wait, by their client. The next turn is that of the first client. */
  readonly #waiting = new Map<string, Set<Waiter>>()

  /** At most this number of calls run at a time. */
  constructor(concurrency: number) {
    this.#free = concurrency
  }

  /** Whether a call begins at once. */
  get isFree(): boolean {
    return this.#free > 0
  }

  /** Runs a call in the turn of its client. */
  run<A, E>(client: string, call: Effect.Effect<A, E>): Effect.Effect<A, E> {
    return Effect.uninterruptibleMask((restore) =>
      Effect.andThen(
        restore(this.#take(client)),
        Effect.ensuring(restore(call), Effect.sync(() => this.#release()))
      )
    )
  }

  #take(client: string): Effect.Effect<void> {
    return Effect.callback<void>((resume) => {
      if (this.#free > 0) {
        this.#free--
        return resume(Effect.void)
      }
      const waiter = () => resume(Effect.void)
      const waiting = this.#waiting.get(client) ?? new Set()
      this.#waiting.set(client, waiting.add(waiter))
      return Effect.sync(() => {
        waiting.delete(waiter)
        if (waiting.size === 0 && this.#waiting.get(client) === waiting) this.#waiting.delete(client)
      })
    })
  }

  #release(): void {
    for (const [client, waiting] of this.#waiting) {
      // The client is the last one in the next round.
      this.#waiting.delete(client)
      for (const waiter of waiting) {
        waiting.delete(waiter)
        if (waiting.size > 0) this.#waiting.set(client, waiting)
        return waiter()
      }
    }
    this.#free++
  }
}

/** The time that one call spends waiting for its server. */

import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"

/** The time that a call waits for a server that is down, unless it or its client says otherwise. */
export const defaultWaitTimeout = Duration.seconds(10)

/** The time that a call may wait, and the part of it that has passed. The time in which a server works is no part. */
export class WaitingTime {
  readonly #totalMillis: number
  #spentMillis = 0

  constructor(totalMillis: number) {
    this.#totalMillis = totalMillis
  }

  get spentMillis(): number {
    return Math.min(this.#spentMillis, this.#totalMillis)
  }

  get leftMillis(): number {
    return this.#totalMillis - this.spentMillis
  }

  /** Counts time that has passed in vain. */
  spend(millis: number): void {
    this.#spentMillis += millis
  }

  /** Counts the time of an effect. */
  during<A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> {
    return Effect.clockWith((clock) => {
      const since = clock.currentTimeMillisUnsafe()
      return Effect.onExit(effect, () => Effect.sync(() => this.spend(clock.currentTimeMillisUnsafe() - since)))
    })
  }

  /** Waits for an effect for the time that is left. Returns `undefined` after it. */
  atMost<A, E>(effect: Effect.Effect<A, E>): Effect.Effect<A | undefined, E> {
    return this.during(Effect.timeoutOrElse(effect, {
      duration: this.leftMillis,
      // A timer may fire a millisecond early.
      orElse: () => Effect.as(Effect.sync(() => this.spend(this.leftMillis)), undefined)
    }))
  }
}

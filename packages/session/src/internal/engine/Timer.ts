/** The timer of all deadlines of a session. */

import type * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import type * as Fiber from "effect/Fiber"
import { monotonicMillis } from "../monotonicMillis.ts"

/** The session, or the host, whose deadlines the timer watches. */
export interface TimerDependencies {
  readonly clock: Clock.Clock
  fork<A, E>(effect: Effect.Effect<A, E>): Fiber.Fiber<A, E>
  /** Ends everything whose deadline has passed, and returns the next deadline, or `Infinity`. */
  expire(now: number): number
}

/**
 * The timer of a session, or of a host. Deadlines are fields of their owners. The timer stores only the earliest, and
 * calls `expire` at that time. Its fiber exists only while there is a deadline.
 */
export class Timer {
  readonly #dependencies: TimerDependencies
  #wakeAt = Number.POSITIVE_INFINITY
  #sleeper: Fiber.Fiber<void> | undefined
  /**
   * The number of changes of the deadline. An expiry may run code that watches a new deadline; the timer then belongs
   * to the newest.
   */
  #watches = 0
  #stopped = false

  constructor(dependencies: TimerDependencies) {
    this.#dependencies = dependencies
  }

  /** Returns the milliseconds of a monotonic clock. */
  now(): number {
    return monotonicMillis(this.#dependencies.clock)
  }

  /** Calls `expire` at this time, or earlier. */
  watch(at: number): void {
    if (this.#stopped || at >= this.#wakeAt) return
    this.rest()
    this.#wakeAt = at
    this.#sleeper = this.#dependencies.fork(this.#sleep(at - this.now()))
  }

  /** Discards the deadline, until a new one is watched. */
  rest(): void {
    this.#watches++
    this.#wakeAt = Number.POSITIVE_INFINITY
    const running = this.#sleeper
    this.#sleeper = undefined
    running?.interruptUnsafe()
  }

  /** Stops for good. */
  stop(): void {
    this.#stopped = true
    this.rest()
  }

  #sleep(millis: number): Effect.Effect<void> {
    const { clock } = this.#dependencies
    return Effect.flatMap(clock.sleep(Duration.millis(Math.max(Math.ceil(millis), 0))), () => this.#wake())
  }

  #wake(): Effect.Effect<void> {
    const mine = this.#watches
    const time = this.now()
    this.#wakeAt = Number.POSITIVE_INFINITY
    const next = this.#dependencies.expire(time)
    if (mine !== this.#watches) {
      this.watch(next)
      return Effect.void
    }
    this.#wakeAt = next
    if (next === Number.POSITIVE_INFINITY) {
      this.#sleeper = undefined
      return Effect.void
    }
    return this.#sleep(next - time)
  }
}

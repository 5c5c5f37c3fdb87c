import type * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import type * as Fiber from "effect/Fiber"

/** What a timer needs of whatever has deadlines. */
export interface Timed {
  readonly clock: Clock.Clock
  fork<A, E>(effect: Effect.Effect<A, E>): Fiber.Fiber<A, E>
  /** Ends whatever is due by now and returns the next time that something will be, or `Infinity`. */
  expire(now: number): number
}

/**
 * The one timer of a session, or of a host. Deadlines are fields of what they belong to; the timer only knows when the earliest of
 * them comes, and asks then. It sleeps in a fiber of its own, and only while there is something to wait for.
 */
export class Timer {
  readonly #timed: Timed
  #wakeAt = Number.POSITIVE_INFINITY
  #sleeper: Fiber.Fiber<void> | undefined
  /** What expires may run programs that watch something new; whoever watched last owns the timer. */
  #watches = 0
  #stopped = false

  constructor(timed: Timed) {
    this.#timed = timed
  }

  /** Milliseconds on a clock that never jumps. */
  now(): number {
    return Number(this.#timed.clock.monotonicTimeNanosUnsafe()) / 1_000_000
  }

  /** Something is due at this time: be awake by then. */
  watch(at: number): void {
    if (this.#stopped || at >= this.#wakeAt) return
    this.rest()
    this.#wakeAt = at
    this.#sleeper = this.#timed.fork(this.#sleep(at - this.now()))
  }

  /** Nothing is due until something new is watched. */
  rest(): void {
    this.#watches++
    this.#wakeAt = Number.POSITIVE_INFINITY
    const running = this.#sleeper
    this.#sleeper = undefined
    running?.interruptUnsafe()
  }

  /** Nothing will be due any more. */
  stop(): void {
    this.#stopped = true
    this.rest()
  }

  #sleep(millis: number): Effect.Effect<void> {
    const { clock } = this.#timed
    return Effect.flatMap(clock.sleep(Duration.millis(Math.max(Math.ceil(millis), 0))), () => this.#wake())
  }

  #wake(): Effect.Effect<void> {
    const mine = this.#watches
    const time = this.now()
    this.#wakeAt = Number.POSITIVE_INFINITY
    const next = this.#timed.expire(time)
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

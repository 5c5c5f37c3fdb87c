import type * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import type * as Fiber from "effect/Fiber"

/**
 * The one timer of a session. Deadlines are fields of what they belong to; the timer only knows when the earliest of them
 * comes, and asks then. It sleeps in a fiber of its own, and only while there is something to wait for.
 */
export interface Timer {
  /** Milliseconds on a clock that never jumps. */
  readonly now: () => number
  /** Something is due at this time: be awake by then. */
  readonly watch: (at: number) => void
  /** Nothing is due until something new is watched. */
  readonly rest: () => void
  /** Nothing will be due any more. */
  readonly stop: () => void
}

/**
 * Makes a timer. `expire` ends whatever is due by now and returns the next time that something will be, or `Infinity`.
 */
export const make = (options: {
  readonly clock: Clock.Clock
  readonly fork: (effect: Effect.Effect<void>) => Fiber.Fiber<void>
  readonly expire: (now: number) => number
}): Timer => {
  const { clock, expire, fork } = options
  const now = () => Number(clock.monotonicTimeNanosUnsafe()) / 1_000_000
  let wakeAt = Number.POSITIVE_INFINITY
  let sleeper: Fiber.Fiber<void> | undefined
  // What expires may run programs that watch something new; whoever watched last owns the timer.
  let watches = 0
  let stopped = false

  const wake: Effect.Effect<void> = Effect.suspend(() => {
    const mine = watches
    const time = now()
    wakeAt = Number.POSITIVE_INFINITY
    const next = expire(time)
    if (mine !== watches) {
      watch(next)
      return Effect.void
    }
    wakeAt = next
    if (next === Number.POSITIVE_INFINITY) {
      sleeper = undefined
      return Effect.void
    }
    return Effect.flatMap(clock.sleep(Duration.millis(Math.max(Math.ceil(next - time), 0))), () => wake)
  })

  const disarm = () => {
    watches++
    wakeAt = Number.POSITIVE_INFINITY
    const running = sleeper
    sleeper = undefined
    running?.interruptUnsafe()
  }

  const watch = (at: number) => {
    if (stopped || at >= wakeAt) return
    disarm()
    wakeAt = at
    const time = now()
    sleeper = fork(Effect.flatMap(clock.sleep(Duration.millis(Math.max(Math.ceil(at - time), 0))), () => wake))
  }

  return {
    now,
    watch,
    rest: disarm,
    stop: () => {
      stopped = true
      disarm()
    }
  }
}

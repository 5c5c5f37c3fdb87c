/** Calls of code that the program supplies, such as a store, each with a deadline. */
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"

/** The error of a call that has not finished within its deadline. */
export class TimedOut extends Data.TaggedError("TimedOut")<{
  /** The name of the call, such as `SessionStore.load`. */
  readonly call: string
  /** The deadline, in milliseconds. */
  readonly millis: number
}> {
  override get message(): string {
    return `${this.call}: timed out after ${this.millis} ms`
  }
}

const running = <A, E>(call: string, millis: number, effect: Effect.Effect<A, E>): Effect.Effect<A, E | TimedOut> =>
  Effect.withFiber((caller) =>
    // The fiber of the effect starts in here. Started before, it would be left running if the caller was interrupted in
    // between.
    Effect.callback<A, E | TimedOut>((resume) => {
      const fork = Effect.runForkWith(caller.context)
      const fiber = fork(effect)
      const finished = fiber.pollUnsafe()
      if (finished !== undefined) return resume(finished)
      const timedOut = Effect.fail(new TimedOut({ call, millis }))
      let isLate = false
      const timer = fork(Effect.sleep(millis))
      fiber.addObserver((exit) => {
        timer.interruptUnsafe()
        resume(isLate ? timedOut : exit)
      })
      timer.addObserver((exit) => {
        if (Exit.isFailure(exit)) return
        isLate = true
        fiber.interruptUnsafe()
        // Interruptible code ends first. Without this, a caller that continues with its next call would have two at the
        // same time.
        fork(Effect.yieldNow).addObserver(() => resume(timedOut))
      })
      return Effect.sync(() => {
        fiber.interruptUnsafe()
        timer.interruptUnsafe()
      })
    })
  )

/**
 * Runs an effect that the program supplies. Fails with `TimedOut` after `millis`, even if the effect cannot be
 * interrupted: the effect then continues alone, and its outcome is dropped. An exception of the function is a defect.
 */
export const within = <A, E>(
  call: string,
  millis: number,
  effect: () => Effect.Effect<A, E>
): Effect.Effect<A, E | TimedOut> =>
  Effect.suspend(() => {
    const made = effect()
    // A store in memory mostly returns an `Exit`, which needs no fiber and no timer.
    return Exit.isExit(made) ? made : running(call, millis, made)
  })

/**
 * Runs an effect that the program supplies, for a caller with a deadline of its own. An interruption of the caller does
 * not wait for the effect: one that cannot be interrupted continues alone, and its outcome is dropped.
 */
export const detachable = <A, E>(effect: Effect.Effect<A, E>): Effect.Effect<A, E> =>
  Effect.withFiber((caller) =>
    Effect.callback<A, E>((resume) => {
      const fiber = Effect.runForkWith(caller.context)(effect)
      fiber.addObserver(resume)
      return Effect.sync(() => fiber.interruptUnsafe())
    })
  )

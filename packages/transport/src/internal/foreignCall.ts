import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"

/** A call of foreign code that has not finished in time. */
export class TimedOut extends Data.TaggedError("TimedOut")<{
  /** The call, as logs name it. */
  readonly call: string
  readonly millis: number
}> {
  override get message(): string {
    return `${this.call}: timed out after ${this.millis} ms`
  }
}

/**
 * Calls code of the program's that the server depends on, such as a store. It fails with `TimedOut` after `millis`, even if the code cannot
 * be interrupted: the code then goes on by itself, and its outcome is dropped. An exception that the code throws is a defect.
 */
export const within = <A, E>(
  call: string,
  millis: number,
  effect: () => Effect.Effect<A, E>
): Effect.Effect<A, E | TimedOut> =>
  Effect.suspend(() => {
    const made = effect()
    // Most calls of what is in memory have finished already.
    return Exit.isExit(made) ? made : running(call, millis, made)
  })

const running = <A, E>(call: string, millis: number, effect: Effect.Effect<A, E>): Effect.Effect<A, E | TimedOut> =>
  Effect.withFiber((caller) => {
    const fork = Effect.runForkWith(caller.context)
    const fiber = fork(effect)
    const finished = fiber.pollUnsafe()
    if (finished !== undefined) return finished
    return Effect.callback<A, E | TimedOut>((resume) => {
      const timer = fork(Effect.sleep(millis))
      fiber.addObserver((exit) => {
        timer.interruptUnsafe()
        resume(exit)
      })
      timer.addObserver((exit) => {
        if (Exit.isFailure(exit)) return
        resume(Effect.fail(new TimedOut({ call, millis })))
        fiber.interruptUnsafe()
      })
      return Effect.sync(() => {
        fiber.interruptUnsafe()
        timer.interruptUnsafe()
      })
    })
  })

/**
 * Calls of code that a program brings along, such as a store, each with a deadline.
 */
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"

/**
 * The error of a call that has not finished in time.
 *
 * @example
 * ```ts
 * import { ForeignCall } from "@effect-mcp/session"
 *
 * export const message = new ForeignCall.TimedOut({ call: "SessionStore.load", millis: 5000 }).message
 * // => "SessionStore.load: timed out after 5000 ms"
 * ```
 *
 * @category errors
 */
export class TimedOut extends Data.TaggedError("TimedOut")<{
  /** The call, as logs name it. */
  readonly call: string
  readonly millis: number
}> {
  override get message(): string {
    return `${this.call}: timed out after ${this.millis} ms`
  }
}

const running = <A, E>(call: string, millis: number, effect: Effect.Effect<A, E>): Effect.Effect<A, E | TimedOut> =>
  Effect.withFiber((caller) =>
    // The caller may yield before this runs. If it is interrupted there, nothing has begun that it would leave running.
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
        // Code that can be interrupted ends first, so that a caller that goes on to the next call has one at a time.
        fork(Effect.yieldNow).addObserver(() => resume(timedOut))
      })
      return Effect.sync(() => {
        fiber.interruptUnsafe()
        timer.interruptUnsafe()
      })
    })
  )

/**
 * Calls code that a server depends on and that another wrote. Fails with `TimedOut` after `millis`, even if the code
 * cannot be interrupted: the code then goes on by itself, and its outcome is dropped. An exception that the code throws
 * is a defect.
 *
 * @example
 * ```ts
 * import { ForeignCall } from "@effect-mcp/session"
 * import * as Effect from "effect/Effect"
 *
 * const hangs = Effect.uninterruptible(Effect.never)
 *
 * export const message = ForeignCall.within("Store.load", 10, () => hangs).pipe(
 *   Effect.catchTag("TimedOut", ({ message }) => Effect.succeed(message))
 * ) // => "Store.load: timed out after 10 ms"
 * ```
 *
 * @category combinators
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

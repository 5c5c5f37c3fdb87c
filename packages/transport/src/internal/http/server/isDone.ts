/** The test whether an effect needs a fiber. */
import type * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"

/** Returns whether an effect has its value already, so that it needs no fiber. */
export const isDone = <A, E>(effect: Effect.Effect<A, E>): effect is Exit.Success<A, E> =>
  Exit.isExit(effect) && Exit.isSuccess(effect)

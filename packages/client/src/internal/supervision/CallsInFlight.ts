/** The calls of one client that wait for their responses. */

import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"

/** A call, and whether the server has answered it. */
type InFlight = Deferred.Deferred<boolean>

/** The calls in flight, the oldest first. */
export class CallsInFlight {
  readonly #calls = new Set<InFlight>()

  /** Counts a call as in flight until it ends. `isAnswer` tells whether its error is an answer of the server. */
  track<A, E, R>(call: Effect.Effect<A, E, R>, isAnswer: (error: E) => boolean): Effect.Effect<A, E, R> {
    return Effect.suspend(() => {
      const inFlight: InFlight = Deferred.makeUnsafe()
      this.#calls.add(inFlight)
      let isAnswered = false
      return call.pipe(
        Effect.tapError((error) => Effect.sync(() => isAnswered = isAnswer(error))),
        Effect.onExit((exit) =>
          Effect.sync(() => {
            this.#calls.delete(inFlight)
            Deferred.doneUnsafe(inFlight, Exit.succeed(isAnswered || Exit.isSuccess(exit)))
          })
        )
      )
    })
  }

  /** Waits for the end of the oldest call. Returns whether the server has answered it, `undefined` if there is none. */
  get oldestAnswered(): Effect.Effect<boolean | undefined> {
    return Effect.suspend(() => {
      const [oldest] = this.#calls
      return oldest === undefined ? Effect.undefined : Deferred.await(oldest)
    })
  }
}

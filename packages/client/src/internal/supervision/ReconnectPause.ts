/** The pause before the next attempt to connect, which an act of a person ends. */

import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"

export class ReconnectPause {
  #ended: Deferred.Deferred<void> | undefined

  /** Pauses. Returns whether the pause was ended. */
  of(millis: number): Effect.Effect<boolean> {
    return Effect.suspend(() => {
      const ended = Deferred.makeUnsafe<void>()
      this.#ended = ended
      return Effect.map(Effect.timeoutOption(Deferred.await(ended), millis), Option.isSome)
    }).pipe(Effect.ensuring(Effect.sync(() => {
      this.#ended = undefined
    })))
  }

  /** Ends the present pause. Returns whether there is one. */
  end(): boolean {
    return this.#ended !== undefined && Deferred.doneUnsafe(this.#ended, Effect.void)
  }
}

/** The sign-ins of all servers of a program: one is shown to the person at a time. */
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"

/**
 * The time after which the next sign-in is shown although the person has not answered the one before. A person who has
 * closed a window would otherwise keep all other servers waiting.
 */
export const turnMillis = 300_000

/** A turn that is asked for. */
export interface Asked {
  /** Whether a person has asked for this sign-in. Then it does not wait. */
  readonly isWanted: boolean
  /** Runs if the sign-in has to wait. */
  readonly onWait: Effect.Effect<void>
}

export class SignInQueue {
  #shown = 0
  /** The sign-ins that wait, in their order. */
  readonly #waiting = new Set<Deferred.Deferred<void>>()

  /** Waits for the turn of a sign-in, which lasts until the scope closes, but no longer than {@link turnMillis}. */
  turn(asked: Asked): Effect.Effect<void, never, Scope.Scope> {
    return Effect.uninterruptibleMask((restore) =>
      Effect.gen({ self: this }, function*() {
        if (asked.isWanted || this.#shown === 0) this.#shown++
        else yield* restore(this.#awaited(asked))
        let isOver = false
        const end = Effect.sync(() => {
          if (!isOver) this.#next()
          isOver = true
        })
        yield* Effect.addFinalizer(() => end)
        yield* Effect.forkScoped(Effect.interruptible(Effect.andThen(Effect.sleep(turnMillis), end)))
      })
    )
  }

  /** Waits until a turn is given, which is counted by then. */
  #awaited({ onWait }: Asked): Effect.Effect<void> {
    return Effect.suspend(() => {
      const turn = Deferred.makeUnsafe<void>()
      this.#waiting.add(turn)
      return Effect.onInterrupt(Effect.andThen(onWait, Deferred.await(turn)), () =>
        Effect.sync(() => {
          // It was its turn already.
          if (!this.#waiting.delete(turn)) this.#next()
        }))
    })
  }

  /** Ends a turn. */
  #next(): void {
    this.#shown--
    if (this.#shown > 0) return
    for (const turn of this.#waiting) {
      this.#waiting.delete(turn)
      this.#shown++
      Deferred.doneUnsafe(turn, Effect.void)
      return
    }
  }
}

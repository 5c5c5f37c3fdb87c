import type { Progress } from "@effect-mcp/protocol"
import * as Effect from "effect/Effect"
import * as Latch from "effect/Latch"

/**
 * The steps of progress of one exchange on their way from the reader, which never waits, to the caller's fiber, which may
 * take its time. When it is full the oldest step makes room.
 */
export interface ProgressMailbox {
  /** Puts a step in; `"NotIncreasing"` when it does not grow and was left out, `"Overflow"` when an older step had to go. */
  readonly offer: (step: Progress.Progress) => "Taken" | "Overflow" | "NotIncreasing"
  /** No more steps will come: the response is there, or will never be. */
  readonly end: () => void
  /** Gives every step to `sink`, in order, until the mailbox has ended and is empty. */
  readonly drain: <R>(sink: (step: Progress.Progress) => Effect.Effect<void, never, R>) => Effect.Effect<void, never, R>
}

export const make = (capacity: number): ProgressMailbox => {
  const arrived = Latch.makeUnsafe(false)
  let steps: Array<Progress.Progress> = []
  let highest = Number.NEGATIVE_INFINITY
  let ended = false
  return {
    offer: (step) => {
      if (step.progress <= highest) return "NotIncreasing"
      highest = step.progress
      const full = steps.length >= capacity
      if (full) steps.shift()
      steps.push(step)
      Latch.openUnsafe(arrived)
      return full ? "Overflow" : "Taken"
    },
    end: () => {
      ended = true
      Latch.openUnsafe(arrived)
    },
    drain: Effect.fnUntraced(function*(sink) {
      while (true) {
        yield* Latch.await(arrived)
        Latch.closeUnsafe(arrived)
        const batch = steps
        steps = []
        for (const step of batch) yield* sink(step)
        if (ended && steps.length === 0) return
        if (ended) Latch.openUnsafe(arrived)
      }
    })
  }
}

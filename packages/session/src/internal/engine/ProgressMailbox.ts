import type { Progress } from "@effect-mcp/protocol"
import * as Effect from "effect/Effect"
import type { Bounds } from "../collections/SlidingBuffer.ts"
import * as SlidingMailbox from "../collections/SlidingMailbox.ts"
import * as Weight from "./Weight.ts"

/**
 * The steps of progress of one exchange on their way from the reader, which never waits, to the caller's fiber, which may
 * take its time. When it is full the oldest step makes room.
 */
export interface ProgressMailbox {
  /**
   * Puts a step in, which came in so many bytes if it came in bytes; `"NotIncreasing"` when it does not grow and was
   * left out, `"Overflow"` when an older step had to go.
   */
  readonly offer: (step: Progress.Progress, bytes: number | undefined) => "Taken" | "Overflow" | "NotIncreasing"
  /** No more steps will come: the response is there, or will never be. */
  readonly end: () => void
  /** The caller no longer waits for the response: forgets the steps that are left. */
  readonly close: () => void
  /** Gives every step to `sink`, in order, until the mailbox has ended and is empty. */
  readonly drain: <R>(sink: (step: Progress.Progress) => Effect.Effect<void, never, R>) => Effect.Effect<void, never, R>
}

export const make = (bounds: Bounds): ProgressMailbox => {
  const steps = SlidingMailbox.make<Progress.Progress>(bounds)
  let highest = Number.NEGATIVE_INFINITY
  return {
    offer: (step, bytes) => {
      if (step.progress <= highest) return "NotIncreasing"
      highest = step.progress
      return steps.offer(step, Weight.received(step, bytes)) ? "Taken" : "Overflow"
    },
    end: steps.end,
    close: steps.close,
    drain: (sink) => Effect.ignore(Effect.forever(Effect.flatMap(steps.take, sink), { disableYield: true }))
  }
}

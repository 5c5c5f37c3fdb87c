/** The mailbox of a request's progress. */

import type { Progress } from "@effect-mcp/protocol"
import * as Effect from "effect/Effect"
import type { Bounds } from "../collections/SlidingBuffer.ts"
import * as SlidingMailbox from "../collections/SlidingMailbox.ts"
import * as Weight from "./Weight.ts"

/**
 * The steps of progress of one exchange, from the reader, which never waits, to the fiber of the caller. If the mailbox
 * is full, the oldest step makes room.
 */
export interface ProgressMailbox {
  /**
   * Adds a step, which came in so many bytes. Returns `"NotIncreasing"` for a step that did not grow and is dropped,
   * and `"Overflow"` if an older step was dropped.
   */
  readonly offer: (step: Progress.Progress, bytes: number | undefined) => "Taken" | "Overflow" | "NotIncreasing"
  /** Ends the mailbox: the response is there, or there will be none. */
  readonly end: () => void
  /** Closes the mailbox: the caller no longer waits, and the remaining steps are dropped. */
  readonly close: () => void
  /** Passes every step to `sink`, in order, until the mailbox has ended and is empty. */
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

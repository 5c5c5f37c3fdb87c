/** The mailbox for the progress of one request. */

import type { Progress } from "@effect-mcp/protocol"
import * as Effect from "effect/Effect"
import type { Bounds } from "../collections/SlidingBuffer.ts"
import * as SlidingMailbox from "../collections/SlidingMailbox.ts"
import * as Weight from "./Weight.ts"

/**
 * The steps of progress of one exchange, from the read loop, which never waits, to the fiber of the caller. A full
 * mailbox drops the oldest step.
 */
export interface ProgressMailbox {
  /**
   * Adds a step; `bytes` is its size on the wire. Returns `"NotIncreasing"` for a step that is dropped because its
   * progress does not increase, and `"Overflow"` if an older step was dropped.
   */
  readonly offer: (step: Progress.Progress, bytes: number | undefined) => "Taken" | "Overflow" | "NotIncreasing"
  /** Returns the highest progress so far. */
  readonly highest: () => number
  /** Ends the mailbox, because the request has ended. Steps that wait are still drained. */
  readonly end: () => void
  /** Closes the mailbox, because the caller no longer waits. Steps that wait are dropped. */
  readonly close: () => void
  /** Passes every step to `sink`, in order, until the mailbox has ended and is empty. */
  readonly drain: <R>(sink: (step: Progress.Progress) => Effect.Effect<void, never, R>) => Effect.Effect<void, never, R>
}

/** Makes an empty mailbox for steps of progress above this one. */
export const make = (bounds: Bounds, above: number = Number.NEGATIVE_INFINITY): ProgressMailbox => {
  const steps = SlidingMailbox.make<Progress.Progress>(bounds)
  let highest = above
  return {
    offer: (step, bytes) => {
      if (step.progress <= highest) return "NotIncreasing"
      highest = step.progress
      return steps.offer(step, Weight.received(step, bytes)) ? "Taken" : "Overflow"
    },
    highest: () => highest,
    end: steps.end,
    close: steps.close,
    drain: (sink) => Effect.ignore(Effect.forever(Effect.flatMap(steps.take, sink), { disableYield: true }))
  }
}

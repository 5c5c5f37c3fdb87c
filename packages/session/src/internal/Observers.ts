import type * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Queue from "effect/Queue"
import * as Stream from "effect/Stream"
import type { SessionEvent } from "../SessionEvent.ts"

/** How many events a reader of `events` may lag behind before the oldest make room. */
const lag = 1024

/**
 * Who watches a session. An unwatched session pays nothing for it.
 */
export interface Observers {
  readonly emit: (event: SessionEvent) => void
  /** What happens from now on; a slow reader loses the oldest. Ends with the session. */
  readonly events: Stream.Stream<SessionEvent>
  readonly end: () => void
}

export const make = (options: {
  readonly observe: ((event: SessionEvent) => void) | undefined
  readonly onThrow: (thrown: unknown) => void
}): Observers => {
  const queues = new Set<Queue.Queue<SessionEvent, Cause.Done>>()
  let ended = false
  return {
    emit: (event) => {
      if (ended) return
      for (const queue of queues) Queue.offerUnsafe(queue, event)
      if (options.observe === undefined) return
      try {
        options.observe(event)
      } catch (thrown) {
        // An observer's mistake must not become the session's.
        options.onThrow(thrown)
      }
    },
    events: Stream.unwrap(Effect.gen(function*() {
      const queue = yield* Effect.acquireRelease(
        Queue.make<SessionEvent, Cause.Done>({ capacity: lag, strategy: "sliding" }),
        (queue) =>
          Effect.sync(() => {
            queues.delete(queue)
          })
      )
      if (ended) yield* Queue.end(queue)
      else queues.add(queue)
      return Stream.fromQueue(queue)
    })),
    end: () => {
      ended = true
      for (const queue of queues) Queue.endUnsafe(queue)
      queues.clear()
    }
  }
}

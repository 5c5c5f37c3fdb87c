import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import type { SessionEvent } from "../SessionEvent.ts"
import type { Bounds } from "./Backlog.ts"
import * as Mailbox from "./Mailbox.ts"

/**
 * Who watches a session. An unwatched session pays nothing for it.
 */
export interface Observers {
  /** Tells of an event, and of the bytes that are kept with it. */
  readonly emit: (event: SessionEvent, bytes?: number) => void
  /** What happens from now on; a slow reader loses the oldest. Ends with the session. */
  readonly events: Stream.Stream<SessionEvent>
  readonly end: () => void
}

export const make = (options: {
  readonly bounds: Bounds
  readonly observe: ((event: SessionEvent) => void) | undefined
  readonly onThrow: (thrown: unknown) => void
}): Observers => {
  const readers = new Set<Mailbox.Mailbox<SessionEvent>>()
  let ended = false
  return {
    emit: (event, bytes = 0) => {
      if (ended) return
      for (const reader of readers) reader.offer(event, bytes)
      if (options.observe === undefined) return
      try {
        options.observe(event)
      } catch (thrown) {
        // An observer's mistake must not become the session's.
        options.onThrow(thrown)
      }
    },
    events: Stream.unwrap(Effect.map(
      Effect.acquireRelease(
        Effect.sync(() => {
          const reader = Mailbox.make<SessionEvent>(options.bounds)
          if (ended) reader.end()
          else readers.add(reader)
          return reader
        }),
        (reader) => Effect.sync(() => readers.delete(reader))
      ),
      (reader) => reader.stream
    )),
    end: () => {
      ended = true
      for (const reader of readers) reader.end()
      readers.clear()
    }
  }
}

/** A sliding buffer whose consumer waits for entries. */

import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Latch from "effect/Latch"
import * as Stream from "effect/Stream"
import * as SlidingBuffer from "./SlidingBuffer.ts"

/** A sliding buffer with an end, and one consumer that waits for entries. */
export interface SlidingMailbox<A> {
  /** Adds an entry. Returns `false` if older entries were dropped. */
  readonly offer: (item: A, bytes: number) => boolean
  /** Ends the mailbox. It accepts no more entries; the consumer takes the waiting ones. */
  readonly end: () => void
  /** Ends the mailbox and drops the waiting entries. */
  readonly close: () => void
  /** Takes the oldest entry. Waits until there is one, and fails after the end. */
  readonly take: Effect.Effect<A, Cause.Done>
  /** Streams the entries until the end. */
  readonly stream: Stream.Stream<A>
}

export const make = <A>(bounds: SlidingBuffer.Bounds): SlidingMailbox<A> => {
  const backlog = SlidingBuffer.make<A>(bounds)
  const arrived = Latch.makeUnsafe(false)
  let ended = false
  const take: SlidingMailbox<A>["take"] = Effect.suspend(() => {
    const oldest = backlog.shift()
    if (oldest !== undefined) {
      backlog.release(oldest)
      return Effect.succeed(oldest.item)
    }
    if (ended) return Cause.done()
    Latch.closeUnsafe(arrived)
    return Effect.andThen(Latch.await(arrived), take)
  })
  return {
    offer: (item, bytes) => {
      if (ended) return false
      const complete = backlog.offer(item, bytes)
      Latch.openUnsafe(arrived)
      return complete
    },
    end: () => {
      ended = true
      Latch.openUnsafe(arrived)
    },
    close: () => {
      ended = true
      backlog.clear()
      Latch.openUnsafe(arrived)
    },
    take,
    stream: Stream.fromPull(Effect.succeed(Effect.map(take, (item) => [item] as const)))
  }
}

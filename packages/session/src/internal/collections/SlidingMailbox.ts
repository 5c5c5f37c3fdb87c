import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Latch from "effect/Latch"
import * as Stream from "effect/Stream"
import * as SlidingBuffer from "./SlidingBuffer.ts"

/**
 * A backlog with somebody who waits for what comes into it, and who is told when nothing more will.
 */
export interface SlidingMailbox<A> {
  /** `false` when older ones had to go. */
  readonly offer: (item: A, bytes: number) => boolean
  /** No more will come. */
  readonly end: () => void
  /** The consumer takes nothing any more: drops what waits. */
  readonly close: () => void
  /** The oldest; waits until there is one, and fails when there will be none. For one consumer. */
  readonly take: Effect.Effect<A, Cause.Done>
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

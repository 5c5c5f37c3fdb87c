/** Changes for followers that may be slow: of the changes with the same key, a follower gets the latest. */

import * as Effect from "effect/Effect"
import * as Latch from "effect/Latch"
import * as Stream from "effect/Stream"

interface Follower<A> {
  readonly waiting: Map<string, A>
  readonly latch: Latch.Latch
}

/**
 * A feed of changes. What waits for a slow follower is bounded by the number of keys, and a flood of changes with one
 * key displaces none with another.
 */
export class LatestByKey<A> {
  readonly #followers = new Set<Follower<A>>()

  publish(key: string, change: A): void {
    for (const { latch, waiting } of this.#followers) {
      waiting.set(key, change)
      latch.openUnsafe()
    }
  }

  /** Streams `first`, and then the changes from now on. */
  stream(first: () => Iterable<readonly [key: string, change: A]> = () => []): Stream.Stream<A> {
    return Stream.unwrap(Effect.map(
      Effect.acquireRelease(
        Effect.sync((): Follower<A> => {
          const waiting = new Map(first())
          const follower = { waiting, latch: Latch.makeUnsafe(waiting.size > 0) }
          this.#followers.add(follower)
          return follower
        }),
        (follower) => Effect.sync(() => this.#followers.delete(follower))
      ),
      ({ latch, waiting }) =>
        Stream.fromIterableEffectRepeat(Effect.map(latch.await, () => {
          const changes = [...waiting.values()]
          waiting.clear()
          latch.closeUnsafe()
          return changes
        }))
    ))
  }
}

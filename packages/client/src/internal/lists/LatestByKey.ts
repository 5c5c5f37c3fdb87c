/** Changes for followers that may be slow: of the changes with the same key, a follower gets the latest. */

import * as Effect from "effect/Effect"
import * as Latch from "effect/Latch"
import * as Option from "effect/Option"
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
  #isEnded = false

  publish(key: string, change: A): void {
    for (const { latch, waiting } of this.#followers) {
      waiting.set(key, change)
      latch.openUnsafe()
    }
  }

  /** Ends the streams of all followers, after what waits for them. */
  end(): void {
    this.#isEnded = true
    for (const { latch } of this.#followers) latch.openUnsafe()
  }

  /**
   * Streams `first`, and then the changes from now on. A follower is there as soon as its stream begins: a `PubSub`
   * that is merged with others has its subscriber only some steps later, and the follower would miss a change.
   */
  stream(first: () => Iterable<readonly [key: string, change: A]> = () => []): Stream.Stream<A> {
    return Stream.unwrap(Effect.map(
      Effect.acquireRelease(
        Effect.sync((): Follower<A> => {
          const waiting = new Map(first())
          const follower = { waiting, latch: Latch.makeUnsafe(waiting.size > 0 || this.#isEnded) }
          this.#followers.add(follower)
          return follower
        }),
        (follower) => Effect.sync(() => this.#followers.delete(follower))
      ),
      ({ latch, waiting }) =>
        Stream.paginate(undefined, () =>
          Effect.map(latch.await, () => {
            const changes = [...waiting.values()]
            waiting.clear()
            if (!this.#isEnded) latch.closeUnsafe()
            return [changes, this.#isEnded ? Option.none() : Option.some(undefined)] as const
          }))
    ))
  }
}

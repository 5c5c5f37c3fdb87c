import type * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Queue from "effect/Queue"
import * as Stream from "effect/Stream"
import { trust } from "./trust.ts"

/** How many messages a follower may lag behind before the oldest make room. */
const lag = 1024

/**
 * Who follows what the peer says. Nothing is kept for what nobody follows.
 */
export interface Subscriptions {
  /** Hands a value to everyone who follows this name; `false` when there is nobody. */
  readonly publish: (name: string, value: unknown) => boolean
  /** What is said under this name from now on; a slow follower loses the oldest. Ends with the session. */
  readonly follow: <A>(name: string) => Stream.Stream<A>
  readonly end: () => void
}

export const make = (): Subscriptions => {
  const followers = new Map<string, Set<Queue.Queue<unknown, Cause.Done>>>()
  let ended = false
  return {
    publish: (name, value) => {
      const queues = followers.get(name)
      if (queues === undefined) return false
      for (const queue of queues) Queue.offerUnsafe(queue, value)
      return true
    },
    follow: <A>(name: string) =>
      Stream.unwrap(Effect.gen(function*() {
        // What is published under a name has been checked against the schema of that name.
        const queue = trust<Queue.Queue<A, Cause.Done>>(
          yield* Effect.acquireRelease(
            Queue.make<unknown, Cause.Done>({ capacity: lag, strategy: "sliding" }),
            (queue) =>
              Effect.sync(() => {
                const queues = followers.get(name)
                queues?.delete(queue)
                if (queues?.size === 0) followers.delete(name)
              })
          )
        )
        if (ended) yield* Queue.end(queue)
        else followers.set(name, (followers.get(name) ?? new Set()).add(trust(queue)))
        return Stream.fromQueue(queue)
      })),
    end: () => {
      ended = true
      for (const queues of followers.values()) for (const queue of queues) Queue.endUnsafe(queue)
      followers.clear()
    }
  }
}

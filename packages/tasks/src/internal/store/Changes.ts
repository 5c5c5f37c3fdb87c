/** The callers that wait for changes of rows, and one query at intervals for all of them. */

import * as Data from "effect/Data"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type * as Fiber from "effect/Fiber"
import type * as Scope from "effect/Scope"

/** The database whose changes are waited for. */
export interface ChangesDependencies<E> {
  /** The time between two queries, or `Infinity`. */
  readonly pollMillis: number
  /** Returns the versions of these rows. A row that does not exist has none. */
  readonly versions: (keys: ReadonlyArray<string>) => Effect.Effect<ReadonlyMap<string, number>, E>
}

/** The error of a wait whose store was closed. */
export class StoreClosed extends Data.TaggedError("StoreClosed") {
  override readonly message = "the store was closed during the wait"
}

/** The waits for changes. */
export interface Changes<E> {
  /** Waits until a row has a later version, or does not exist. */
  readonly await: (key: string, version: number) => Effect.Effect<void, E | StoreClosed>
  /** Ends the waits for versions after which this one is stored. */
  readonly announce: (key: string, version: number) => void
}

interface Waiter<E> {
  readonly version: number
  readonly done: Deferred.Deferred<void, E | StoreClosed>
}

/** The number of keys in one query. SQLite accepts 32,766 parameters, and PostgreSQL 65,535. */
const chunkSize = 1000

const chunksOf = (keys: ReadonlyArray<string>): ReadonlyArray<ReadonlyArray<string>> =>
  Array.from(
    { length: Math.ceil(keys.length / chunkSize) },
    (_, index) => keys.slice(index * chunkSize, (index + 1) * chunkSize)
  )

/** Makes the waits of one process. The fiber that queries exists only while a caller waits. */
export const make = <E>(
  { pollMillis, versions }: ChangesDependencies<E>
): Effect.Effect<Changes<E>, never, Scope.Scope> =>
  Effect.gen(function*() {
    const fork = Effect.runForkWith(yield* Effect.context())
    const waiters = new Map<string, Set<Waiter<E>>>()
    let poller: Fiber.Fiber<void> | undefined

    const announce = (key: string, version: number): void => {
      for (const waiter of waiters.get(key) ?? []) {
        if (waiter.version < version) Deferred.doneUnsafe(waiter.done, Exit.void)
      }
    }

    const failAll = (exit: Exit.Exit<never, E | StoreClosed>): void => {
      for (const all of waiters.values()) for (const { done } of all) Deferred.doneUnsafe(done, exit)
    }

    const announceAll = (keys: ReadonlyArray<string>) =>
      Effect.map(versions(keys), (found) => {
        for (const key of keys) announce(key, found.get(key) ?? Number.POSITIVE_INFINITY)
      })

    const query = Effect.suspend(() => {
      return Effect.forEach(chunksOf([...waiters.keys()]), announceAll, { discard: true })
    })

    // A failure ends the present waits. Their callers decide whether to wait again.
    const poll = Effect.forever(
      Effect.delay(Effect.catchCause(query, (cause) => Effect.sync(() => failAll(Exit.failCause(cause)))), pollMillis)
    )

    const rest = (): void => {
      poller?.interruptUnsafe()
      poller = undefined
    }

    const register = (key: string, version: number) =>
      Effect.sync(() => {
        const waiter: Waiter<E> = { version, done: Deferred.makeUnsafe() }
        const all = waiters.get(key) ?? new Set()
        waiters.set(key, all.add(waiter))
        if (poller === undefined && pollMillis < Number.POSITIVE_INFINITY) poller = fork(poll)
        return waiter
      })

    yield* Effect.addFinalizer(() =>
      Effect.sync(() => {
        rest()
        failAll(Exit.fail(new StoreClosed()))
      })
    )

    return {
      // The wait is registered before the query, so that no change is missed in between.
      await: (key, version) =>
        Effect.acquireUseRelease(
          register(key, version),
          ({ done }) =>
            Effect.flatMap(versions([key]), (found) => {
              const present = found.get(key)
              return present === undefined || present > version ? Effect.void : Deferred.await(done)
            }),
          (waiter) =>
            Effect.sync(() => {
              const all = waiters.get(key)
              all?.delete(waiter)
              if (all?.size === 0) waiters.delete(key)
              if (waiters.size === 0) rest()
            })
        ),
      announce
    }
  })

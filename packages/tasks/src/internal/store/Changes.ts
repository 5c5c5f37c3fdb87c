/** The callers that wait for changes of rows, and one query for all of them: at intervals, or when a bus reports. */

import type { ChangeBusShape } from "@effect-mcp/session/ChangeBus"
import { monotonicMillis } from "@effect-mcp/session/internal"
import * as Clock from "effect/Clock"
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
  /** The bus that reports the changes of other processes, and the name of the table on it. */
  readonly shared?: { readonly bus: ChangeBusShape; readonly scope: string } | undefined
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
  /** Ends the waits for versions after which this one is stored, also at other processes if there is a bus. */
  readonly announce: (key: string, version: number) => Effect.Effect<void>
}

interface Waiter<E> {
  readonly version: number
  readonly done: Deferred.Deferred<void, E | StoreClosed>
}

/** The kind of a change of a row, whose key is that of the row. */
const row = "row"

/**
 * The least time between two queries while a bus is connected, in milliseconds. A process that has stored a change may
 * end before it publishes the change.
 */
const connectedPollMillis = 10_000

/** The stores of this process that share a bus, by their tables. A bus does not report changes of its own process. */
const sharing = new WeakMap<ChangeBusShape, Map<string, Set<(key: string, version: number) => void>>>()

/** The number of keys in one query. SQLite accepts 32,766 parameters, and PostgreSQL 65,535. */
const chunkSize = 1000

const chunksOf = (keys: ReadonlyArray<string>): ReadonlyArray<ReadonlyArray<string>> =>
  Array.from(
    { length: Math.ceil(keys.length / chunkSize) },
    (_, index) => keys.slice(index * chunkSize, (index + 1) * chunkSize)
  )

/** Adds a store to those of this process that share a bus and a table, and returns all of them. */
const joined = (bus: ChangeBusShape, scope: string, announce: (key: string, version: number) => void) =>
  Effect.acquireRelease(
    Effect.sync(() => {
      const scopes = sharing.get(bus) ?? new Map<string, Set<typeof announce>>()
      sharing.set(bus, scopes)
      const stores = scopes.get(scope) ?? new Set()
      scopes.set(scope, stores)
      return stores.add(announce)
    }),
    (stores) => Effect.sync(() => void stores.delete(announce))
  )

/** Makes the waits of one process. The fiber that queries exists only while a caller waits. */
export const make = <E>(
  { pollMillis, shared, versions }: ChangesDependencies<E>
): Effect.Effect<Changes<E>, never, Scope.Scope> =>
  Effect.gen(function*() {
    const fork = Effect.runForkWith(yield* Effect.context())
    const waiters = new Map<string, Set<Waiter<E>>>()
    const clock = yield* Clock.Clock
    let poller: Fiber.Fiber<void> | undefined
    let queriedAt = Number.NEGATIVE_INFINITY

    const announceHere = (key: string, version: number): void => {
      for (const waiter of waiters.get(key) ?? []) {
        if (waiter.version < version) Deferred.doneUnsafe(waiter.done, Exit.void)
      }
    }

    const fail = (keys: Iterable<string>, exit: Exit.Exit<never, E | StoreClosed>): void => {
      for (const key of keys) for (const { done } of waiters.get(key) ?? []) Deferred.doneUnsafe(done, exit)
    }

    const announceAll = (keys: ReadonlyArray<string>) =>
      Effect.map(versions(keys), (found) => {
        for (const key of keys) announceHere(key, found.get(key) ?? Number.POSITIVE_INFINITY)
      })

    /** Ends the waits for rows that have changed. A failure ends the waits for all; their callers may wait again. */
    const query = (keys: ReadonlyArray<string>): Effect.Effect<void> =>
      Effect.catchCause(
        Effect.forEach(chunksOf(keys), announceAll, { discard: true }),
        (cause) => Effect.sync(() => fail(keys, Exit.failCause(cause)))
      )

    const isReported = shared === undefined ? Effect.succeed(false) : shared.bus.isConnected

    const poll = Effect.forever(Effect.delay(
      Effect.flatMap(isReported, (isReported) => {
        const now = monotonicMillis(clock)
        if (isReported && now - queriedAt < connectedPollMillis) return Effect.void
        queriedAt = now
        return query([...waiters.keys()])
      }),
      pollMillis
    ))

    /** The rows that have changed according to the bus, and are not queried yet. */
    const reported = new Set<string>()
    let querying: Fiber.Fiber<void> | undefined

    const queryReported: Effect.Effect<void> = Effect.suspend(() => {
      if (reported.size === 0) {
        querying = undefined
        return Effect.void
      }
      const keys = [...reported]
      reported.clear()
      return Effect.andThen(query(keys), queryReported)
    })

    const report = (keys: Iterable<string>): void => {
      for (const key of keys) if (waiters.has(key)) reported.add(key)
      if (reported.size === 0 || querying !== undefined) return
      // Changes that arrive together are one query.
      querying = fork(Effect.andThen(Effect.yieldNow, queryReported))
    }

    const rest = (): void => {
      poller?.interruptUnsafe()
      poller = undefined
    }

    const register = (key: string, version: number) =>
      Effect.sync(() => {
        const waiter: Waiter<E> = { version, done: Deferred.makeUnsafe() }
        const all = waiters.get(key) ?? new Set()
        waiters.set(key, all.add(waiter))
        if (poller === undefined && pollMillis < Number.POSITIVE_INFINITY) {
          queriedAt = monotonicMillis(clock)
          poller = fork(poll)
        }
        return waiter
      })

    yield* Effect.addFinalizer(() =>
      Effect.sync(() => {
        rest()
        querying?.interruptUnsafe()
        fail(waiters.keys(), Exit.fail(new StoreClosed()))
      })
    )

    let announce: Changes<E>["announce"] = (key, version) => Effect.sync(() => announceHere(key, version))
    if (shared !== undefined) {
      const { bus, scope } = shared
      const ofProcess = yield* joined(bus, scope, announceHere)
      yield* bus.subscribe({
        scope,
        onChange: ({ key, kind }) => {
          if (kind === row) report([key])
        },
        onGap: () => report(waiters.keys())
      })
      announce = (key, version) =>
        Effect.suspend(() => {
          for (const announceAt of ofProcess) announceAt(key, version)
          return bus.publish({ scope, kind: row, key })
        })
    }

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

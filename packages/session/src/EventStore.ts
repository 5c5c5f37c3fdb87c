/**
 * The store of the events of SSE streams. With it, a client whose stream broke off can resume it (SHS-17 to SHS-20).
 *
 * @stability unstable
 */
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Data from "effect/Data"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import { Timer } from "./internal/engine/Timer.ts"
import * as NumericOption from "./internal/NumericOption.ts"
import { EventLog } from "./internal/stores/EventLog.ts"

/**
 * The name of a stream, and the session that it belongs to. Streams of different sessions can have the same name. A
 * name is printable and not empty.
 *
 * @category models
 */
export interface StreamKey {
  readonly session: string
  readonly stream: string
}

/**
 * One event of a stream.
 *
 * @category models
 */
export interface StoredEvent {
  /** Identifies the stream (SHS-18), and is unique in the session (SHS-17). Printable ASCII without a space. */
  readonly id: string
  /** The message as JSON; `""` for a priming event, which gives the client an id to resume with (SHS-03). */
  readonly data: string
}

/**
 * The events of a stream after one of its events.
 *
 * @category models
 */
export interface Replay {
  /** The stream of the event. */
  readonly stream: string
  /** The later events of this stream in order, and of no other stream (SHS-20). */
  readonly events: ReadonlyArray<StoredEvent>
  /** Whether the stream has ended, so that no more events are appended. */
  readonly ended: boolean
}

/**
 * The error of a store whose operation failed. An event whose `append` failed is not stored.
 *
 * @example
 * ```ts
 * import { EventStore } from "@effect-mcp/session"
 * import * as Effect from "effect/Effect"
 *
 * // Runs an operation of a store over a database.
 * export const query = <A>(run: () => Promise<A>) =>
 *   Effect.tryPromise({ try: run, catch: (cause) => new EventStore.EventStoreError({ cause }) })
 * ```
 *
 * @category errors
 */
export class EventStoreError extends Data.TaggedError("EventStoreError")<{
  readonly cause: unknown
}> {}

/**
 * The store of a server's events. An implementation can complete an operation synchronously and return an `Exit`, which
 * needs no fiber. A caller therefore runs each operation once, where it calls it. `EventStoreLaws` of
 * `@effect-mcp/testing` test an implementation.
 *
 * @example
 * ```ts
 * import { EventStore } from "@effect-mcp/session"
 * import * as Effect from "effect/Effect"
 * import * as Layer from "effect/Layer"
 *
 * // Logs how many events each resuming client has missed.
 * const observed = Effect.map(EventStore.EventStore, (store) => ({
 *   ...store,
 *   replay: (session: string, after: string) =>
 *     Effect.tap(store.replay(session, after), (replay) =>
 *       Effect.logDebug("stream resumed", { session, after, missed: replay?.events.length }))
 * }))
 *
 * export const layer = Layer.provide(Layer.effect(EventStore.EventStore, observed), EventStore.layerMemory())
 * ```
 *
 * @category services
 */
export class EventStore extends Context.Service<EventStore, {
  /** Stores an event at the end of a stream, and returns its id. The oldest events of a full stream make room. */
  readonly append: (key: StreamKey, data: string) => Effect.Effect<string, EventStoreError>
  /**
   * Returns the events after an event. `undefined` if the session has no such event, or if that event or a later one
   * was dropped.
   */
  readonly replay: (session: string, after: string) => Effect.Effect<Replay | undefined, EventStoreError>
  /**
   * Ends a stream: no more events are appended. The store keeps it for a while, for a client that has missed events.
   */
  readonly end: (key: StreamKey) => Effect.Effect<void, EventStoreError>
  /**
   * Deletes all streams of a session. Their event ids are not used again, even for a later session with the same id.
   */
  readonly drop: (session: string) => Effect.Effect<void, EventStoreError>
}>()("@effect-mcp/session/EventStore") {}

/**
 * Options for a store in memory.
 *
 * Each UTF-16 code unit of an event's data counts as two bytes, which is the most that it takes. Each event counts 64
 * bytes more, and each stream 512.
 *
 * @category models
 */
export interface MemoryOptions {
  /** The number of events of one stream. Default 1,000. */
  readonly maxEventsPerStream?: number
  /** The bytes of one stream. Its newest event is stored even if it is larger. Default 4 MiB. */
  readonly maxBytesPerStream?: number
  /** The bytes of one session. Default 8 MiB. */
  readonly maxBytesPerSession?: number
  /** The bytes of all sessions. Default 512 MiB. */
  readonly maxBytes?: number
  /** The time for which a stream is stored after it has ended. Default 60 seconds. */
  readonly endedStreamTimeout?: Duration.Input
}

const rules: NumericOption.Rules<MemoryOptions> = {
  maxEventsPerStream: NumericOption.count,
  maxBytesPerStream: NumericOption.count,
  maxBytesPerSession: NumericOption.count,
  maxBytes: NumericOption.count,
  endedStreamTimeout: NumericOption.duration
}

/**
 * Makes a store in memory, which ends with its process.
 *
 * - If a stream is full, its oldest events make room. If a session is full, the oldest events of its least recently
 *   used stream make room. If the store is full, those of the least recently used stream of all make room. Appending to
 *   a stream and replaying it both count as use.
 * - A stream without events is deleted. A session without streams takes no memory.
 * - Ended streams are deleted after `endedStreamTimeout`. One timer for all of them runs on the `Clock`, in a fiber
 *   that exists only while a stream waits to be deleted.
 * - All operations are `Exit`s. `append` takes amortized constant time, because each event that makes room was appended
 *   once. `replay` takes time in proportion to its stream, and `drop` in proportion to the streams of its session.
 *
 * @example
 * ```ts
 * import { EventStore } from "@effect-mcp/session"
 * import * as Effect from "effect/Effect"
 *
 * export const missed = Effect.gen(function*() {
 *   const store = yield* EventStore.makeMemory({ endedStreamTimeout: "5 minutes" })
 *   const key = { session: "s", stream: "answers" }
 *   const seen = yield* store.append(key, "1")
 *   yield* store.append(key, "2")
 *   yield* store.append(key, "3")
 *   const replay = yield* store.replay("s", seen)
 *   return replay?.events.map(({ data }) => data)
 * }).pipe(Effect.scoped) // => ["2", "3"]
 * ```
 *
 * @category constructors
 */
export const makeMemory = (
  options: MemoryOptions = {}
): Effect.Effect<EventStore["Service"], never, Scope.Scope> =>
  Effect.gen(function*() {
    NumericOption.check(options, rules)
    const clock = yield* Clock.Clock
    const fork = Effect.runForkWith(yield* Effect.context())
    const endedStreamMillis = Duration.toMillis(options.endedStreamTimeout ?? "60 seconds")
    const log = new EventLog({
      maxEventsPerStream: options.maxEventsPerStream ?? 1000,
      maxBytesPerStream: options.maxBytesPerStream ?? 4 * 1024 * 1024,
      maxBytesPerSession: options.maxBytesPerSession ?? 8 * 1024 * 1024,
      maxBytes: options.maxBytes ?? 512 * 1024 * 1024
    }, clock.currentTimeMillisUnsafe().toString(36))
    const timer = new Timer({ clock, fork, expire: (now) => log.expire(now) })
    yield* Effect.addFinalizer(() =>
      Effect.sync(() => {
        timer.stop()
        log.clear()
      })
    )
    return {
      append: ({ session, stream }, data) => Exit.succeed(log.append(session, stream, data)),
      replay: (session, after) => {
        log.expire(timer.now())
        return Exit.succeed(log.replay(session, after))
      },
      end: ({ session, stream }) => {
        const until = timer.now() + endedStreamMillis
        log.end(session, stream, until)
        timer.watch(until)
        return Exit.void
      },
      drop: (session) => {
        log.drop(session)
        return Exit.void
      }
    }
  })

/**
 * Provides a store in memory; see {@link makeMemory}. Without an `EventStore`, streams cannot be resumed.
 *
 * @example
 * ```ts
 * import { EventStore } from "@effect-mcp/session"
 *
 * export const events = EventStore.layerMemory({ maxBytes: 64 * 1024 * 1024, endedStreamTimeout: "10 minutes" })
 * ```
 *
 * @category layers
 */
export const layerMemory = (options: MemoryOptions = {}): Layer.Layer<EventStore> =>
  Layer.effect(EventStore, makeMemory(options))

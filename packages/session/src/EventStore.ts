/**
 * The store of the events of SSE streams. With it, a client whose stream broke off can resume it (SHS-17 to SHS-20).
 *
 * @stability unstable
 */
import type { RequestId } from "@effect-mcp/protocol"
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
import { endedStream } from "./internal/stores/endedStream.ts"
import { EventLog } from "./internal/stores/EventLog.ts"
import { SupersededError } from "./SupersededError.ts"

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
 * A stream, as its writer names it.
 *
 * @category models
 */
export interface WrittenStream extends StreamKey {
  /** The epoch of the copy of the session that writes, as in `SessionStore.StoredSession`. */
  readonly epoch: number
  /** The ids of the requests that the stream answers. A standalone stream has none. The first `append` stores them. */
  readonly requests: ReadonlyArray<RequestId.RequestId>
}

/**
 * A stream that had not ended when another process took its session over.
 *
 * @category models
 */
export interface UnendedStream {
  /** The name of the stream. */
  readonly stream: string
  /** The ids of the requests that it answers. A standalone stream has none. */
  readonly requests: ReadonlyArray<RequestId.RequestId>
  /** The events that are stored, in order. */
  readonly events: ReadonlyArray<StoredEvent>
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
 * The store of a server's events. Each write carries the epoch of the copy of the session that makes it. From the time
 * at which `takeOver` was called with a later epoch, such a write fails with `SupersededError` and changes nothing.
 *
 * An implementation can complete an operation synchronously and return an `Exit`, which
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
  /**
   * Stores an event at the end of a stream, and returns its id. The oldest events of a full stream make room. Fails and
   * changes nothing if the stream has ended: an event whose caller has timed out may reach the store after the end.
   */
  readonly append: (stream: WrittenStream, data: string) => Effect.Effect<string, EventStoreError | SupersededError>
  /**
   * Returns the events after an event. `undefined` if the session has no such event, or if that event or a later one
   * was dropped.
   */
  readonly replay: (session: string, after: string) => Effect.Effect<Replay | undefined, EventStoreError>
  /**
   * Ends a stream: no more events are appended. The store keeps it for a while, for a client that has missed events.
   */
  readonly end: (stream: WrittenStream) => Effect.Effect<void, EventStoreError | SupersededError>
  /**
   * Makes writes of earlier epochs to a session fail, and returns the streams of the session that have not ended. The
   * next owner of the session calls it before its first write. A second call with the same epoch returns the streams
   * that have not ended then.
   */
  readonly takeOver: (
    session: string,
    epoch: number
  ) => Effect.Effect<ReadonlyArray<UnendedStream>, EventStoreError | SupersededError>
  /**
   * Deletes all streams of a session. Their event ids are not used again, even for a later session with the same id.
   */
  readonly drop: (session: string, epoch: number) => Effect.Effect<void, EventStoreError | SupersededError>
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
 * - The epochs of sessions that were taken over are remembered: 10,000, and those of the sessions that were taken over
 *   last.
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
 *   const stream = { session: "s", stream: "answers", epoch: 1, requests: [1] }
 *   const seen = yield* store.append(stream, "1")
 *   yield* store.append(stream, "2")
 *   yield* store.append(stream, "3")
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
    /** Runs a write of this epoch, unless the session has a later one. */
    const writing = <A>(session: string, epoch: number, write: () => A): Exit.Exit<A, SupersededError> =>
      log.isSuperseded(session, epoch) ? Exit.fail(new SupersededError({ epoch })) : Exit.succeed(write())
    return {
      append: ({ epoch, requests, session, stream }, data) =>
        log.hasEnded(session, stream) && !log.isSuperseded(session, epoch)
          ? Exit.fail(new EventStoreError({ cause: endedStream(stream) }))
          : writing(session, epoch, () => log.append(session, stream, data, requests)),
      replay: (session, after) => {
        log.expire(timer.now())
        return Exit.succeed(log.replay(session, after))
      },
      end: ({ epoch, session, stream }) =>
        writing(session, epoch, () => {
          const until = timer.now() + endedStreamMillis
          log.end(session, stream, until)
          timer.watch(until)
        }),
      takeOver: (session, epoch) => writing(session, epoch, () => log.takeOver(session, epoch)),
      drop: (session, epoch) => writing(session, epoch, () => log.drop(session))
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

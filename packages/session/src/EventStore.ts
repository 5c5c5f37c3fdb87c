/**
 * Where a server keeps what it has sent, so that a client whose stream broke off can take it up again (SHS-17 to SHS-20).
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
import { EventLog } from "./internal/stores/EventLog.ts"
import * as NumericOption from "./NumericOption.ts"

/**
 * Names one stream of one session. Another session may have one of the same name. A name is printable, and not empty.
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
  /** Names its stream (SHS-18), and is unique in its session (SHS-17). Printable ASCII without a space. */
  readonly id: string
  /** The message as JSON; `""` for an event that only gives the client an id to come back with (SHS-03). */
  readonly data: string
}

/**
 * What came behind an event.
 *
 * @category models
 */
export interface Replay {
  /** The stream of that event. */
  readonly stream: string
  /** What was appended to that stream behind it, in order; nothing of any other stream (SHS-20). */
  readonly events: ReadonlyArray<StoredEvent>
  /** Nothing more will be appended. */
  readonly ended: boolean
}

/**
 * The store failed; what it was about to remember is not remembered.
 *
 * @example
 * ```ts
 * import { EventStore } from "@effect-mcp/session"
 * import * as Effect from "effect/Effect"
 *
 * // What every operation of a store over a database goes through.
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
 * The port. An operation that can be done at once may be an `Exit`, which costs no fiber; it has been done when it is returned, so an
 * operation is run where it is called, and once. `EventStoreLaws` of `@effect-mcp/testing` judge an implementation.
 *
 * @example
 * ```ts
 * import { EventStore } from "@effect-mcp/session"
 * import * as Effect from "effect/Effect"
 * import * as Layer from "effect/Layer"
 *
 * // Says what clients come back for, whatever the store.
 * const observed = Effect.map(EventStore.EventStore, (store) => ({
 *   ...store,
 *   replay: (session: string, after: string) =>
 *     Effect.tap(store.replay(session, after), (replay) =>
 *       Effect.logDebug("came back", { session, after, missed: replay?.events.length }))
 * }))
 *
 * export const layer = Layer.provide(Layer.effect(EventStore.EventStore, observed), EventStore.layerMemory())
 * ```
 *
 * @category services
 */
export class EventStore extends Context.Service<EventStore, {
  /** Remembers one more event of a stream, and gives it an id. The oldest of that stream make room where there is none. */
  readonly append: (key: StreamKey, data: string) => Effect.Effect<string, EventStoreError>
  /**
   * What came behind an event; `undefined` where this session has no such event, or has it no more, or where something between was
   * dropped.
   */
  readonly replay: (session: string, after: string) => Effect.Effect<Replay | undefined, EventStoreError>
  /** Nothing more will be appended to this stream. It is kept a while for a client that has not got all of it. */
  readonly end: (key: StreamKey) => Effect.Effect<void, EventStoreError>
  /** Forgets all streams of a session. Their ids are not given again, should there be a session of this name once more. */
  readonly drop: (session: string) => Effect.Effect<void, EventStoreError>
}>()("@effect-mcp/session/EventStore") {}

/**
 * How much is kept in memory, and how long.
 *
 * Bytes are counted as two for each UTF-16 code unit of an event's data, which is the most that it takes, and 64 for each event
 * and 512 for each stream besides.
 *
 * @category models
 */
export interface MemoryOptions {
  /** How many events are kept of one stream. Default 1,000. */
  readonly maxEventsPerStream?: number
  /** How many bytes are kept of one stream; its newest event is kept also where it has more by itself. Default 4 MiB. */
  readonly maxBytesPerStream?: number
  /** How many bytes are kept of one session. Default 8 MiB. */
  readonly maxBytesPerSession?: number
  /** How many bytes are kept of all sessions. Default 512 MiB. */
  readonly maxBytes?: number
  /** How long a stream is kept that has ended. Default 60 seconds. */
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
 * A store in memory: what it remembers is gone with the process, and nobody else sees it.
 *
 * - When a stream is full, its oldest events make room. When a session is full, the oldest events of that of its streams make room
 *   which was not used for longest; when the store is full, those of the stream which was not used for longest of all. To append to
 *   a stream is to use it, and so is to replay it.
 * - A stream of which nothing is left is forgotten, and a session without streams takes nothing.
 * - Streams that have ended are forgotten when their time is over. One timer for all of them runs on the `Clock`, in a fiber that is
 *   there only while there is something to forget.
 * - All operations are `Exit`s. To append takes no longer the more is kept: whatever makes room was appended once itself. To replay
 *   takes as long as its stream, and to drop a session as it has streams.
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
 * A store in memory as a Layer; see {@link makeMemory}. Without any such Layer, streams cannot be taken up again.
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

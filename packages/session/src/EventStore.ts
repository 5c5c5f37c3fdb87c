/**
 * Where a server keeps what it has sent, so that a client whose stream broke off can take it up again (SHS-17 to SHS-20).
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import * as Data from "effect/Data"
import type * as Effect from "effect/Effect"

/**
 * Names one stream of one session. No two sessions have a stream of the same name.
 *
 * @category models
 * @since 0.1.0
 */
export interface StreamKey {
  readonly session: string
  readonly stream: string
}

/**
 * One event of a stream.
 *
 * @category models
 * @since 0.1.0
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
 * @since 0.1.0
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
 * @category errors
 * @since 0.1.0
 */
export class EventStoreError extends Data.TaggedError("EventStoreError")<{
  readonly cause: unknown
}> {}

/**
 * The port. An operation that can be done at once may be an `Exit`, which costs no fiber.
 *
 * @category services
 * @since 0.1.0
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
  /** Forgets all streams of a session. */
  readonly drop: (session: string) => Effect.Effect<void, EventStoreError>
}>()("@effect-mcp/session/EventStore") {}

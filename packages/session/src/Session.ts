/**
 * The options and members that the sessions of both sides share.
 *
 * @stability unstable
 */
import type { CloseReason, Implementation, JsonRpc, Revision, RevisionProjection } from "@effect-mcp/protocol"
import type * as Effect from "effect/Effect"
import type * as Stream from "effect/Stream"
import type * as Limits from "./Limits.ts"
import type { SessionEvent } from "./SessionEvent.ts"

/**
 * Options for a session of either side.
 *
 * @category models
 */
export interface Options {
  /** The name and the version of this side. */
  readonly info: Implementation.Implementation
  /** The revisions that this side speaks. Default: all revisions of this library. */
  readonly revisions?: readonly [Revision.LegacyRevision, ...ReadonlyArray<Revision.LegacyRevision>]
  /**
   * The treatment of members that are newer than the negotiated revision, in messages that this side sends and in
   * capabilities that it receives. `"tolerant"` removes only those that would change the behaviour of a peer of that
   * revision; `"strict"` removes all. Default: `"tolerant"`.
   */
  readonly projection?: RevisionProjection.Projection
  /** The timeouts and the bounds of the session. */
  readonly limits?: Limits.Options
  /** Observes every event at once, and must not block. An exception that it throws is logged and ignored. */
  readonly observe?: (event: SessionEvent) => void
}

/**
 * The numbers of requests in flight. A request of the peer counts until its reply is on its way.
 *
 * @category models
 */
export interface InFlight {
  /** Requests of this side that wait for their responses. */
  readonly sent: number
  /** Requests of the peer whose replies are not on their way yet. */
  readonly served: number
}

/**
 * The members of a session of either side.
 *
 * @category models
 */
export interface Session<State> {
  /** Returns the state of the handshake, with all that is known in it. */
  readonly state: Effect.Effect<State>
  /** Returns the numbers of requests in flight. */
  readonly inFlight: Effect.Effect<InFlight>
  /**
   * Streams the events of the session, from the start of the stream to the end of the session. A consumer that lags by
   * more than the limits allow loses the oldest; `observe` misses none.
   */
  readonly events: Stream.Stream<SessionEvent>
  /**
   * Streams every message of the peer unchanged, from the start of the stream. The messages are also handled. A
   * consumer that lags by more than the limits allow loses the oldest.
   */
  readonly messages: Stream.Stream<JsonRpc.Message>
  /**
   * Closes the session, and waits until it has closed. Handlers may finish within the graceful close. A handler that
   * runs this waits for itself that long, so it should fork it.
   */
  readonly close: Effect.Effect<CloseReason.CloseReason>
  /** Waits until the session has closed, and returns the reason. */
  readonly closed: Effect.Effect<CloseReason.CloseReason>
}

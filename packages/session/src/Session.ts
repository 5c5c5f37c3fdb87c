/**
 * What the sessions of both sides have in common.
 *
 * @since 0.1.0
 */
import type { CloseReason, Implementation, JsonRpc, Revision, RevisionProjection } from "@effect-mcp/protocol"
import type * as Effect from "effect/Effect"
import type * as Stream from "effect/Stream"
import type * as Limits from "./Limits.ts"
import type { SessionEvent } from "./SessionEvent.ts"

/**
 * What may be said about a session of either side.
 *
 * @category models
 * @since 0.1.0
 */
export interface Options {
  /** Who this side says it is. */
  readonly info: Implementation.Implementation
  /** The revisions this side speaks. Default: all that this library does. */
  readonly revisions?: readonly [Revision.Revision, ...ReadonlyArray<Revision.Revision>]
  /**
   * The treatment of members that came after the negotiated revision, in messages that this side sends and in
   * capabilities that it receives. `"tolerant"` removes only those that would change the behaviour of a peer of that
   * revision; `"strict"` removes all. Default: `"tolerant"`.
   */
  readonly projection?: RevisionProjection.Projection
  /** How long it waits and how much it holds. */
  readonly limits?: Limits.Options
  /** Is told of every event, at once; must not block. What it throws is logged and forgotten. */
  readonly observe?: (event: SessionEvent) => void
}

/**
 * How many requests are in flight: those this side has sent, and those of the peer that it serves, until their replies are
 * on their way.
 *
 * @category models
 * @since 0.1.0
 */
export interface InFlight {
  /** Requests of this side that wait for their responses. */
  readonly sent: number
  /** Requests of the peer whose replies are not on their way yet. */
  readonly served: number
}

/**
 * What either side can do with its session.
 *
 * @category models
 * @since 0.1.0
 */
export interface Session<State> {
  /** Where the handshake stands, with what is known there. */
  readonly state: Effect.Effect<State>
  /** How much is in flight now. */
  readonly inFlight: Effect.Effect<InFlight>
  /**
   * What happens from when the stream is run, until the session ends; a reader that lags by more than `Limits` lets it
   * loses the oldest.
   * `observe` misses nothing.
   */
  readonly events: Stream.Stream<SessionEvent>
  /**
   * Everything the peer sends, as it came, from when the stream is run; for looking on, since it is dealt with all the same. A
   * follower that lags by more than `Limits` lets it loses the oldest.
   */
  readonly messages: Stream.Stream<JsonRpc.Message>
  /**
   * Ends the session, and waits until it has ended. Handlers may finish within the graceful close; one that waits for this
   * waits for itself that long, so it should fork it.
   */
  readonly close: Effect.Effect<CloseReason.CloseReason>
  /** Waits until the session has ended, and says why. */
  readonly closed: Effect.Effect<CloseReason.CloseReason>
}

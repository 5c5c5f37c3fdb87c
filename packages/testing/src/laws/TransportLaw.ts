/**
 * A law of transports, as a value.
 */
import type * as Effect from "effect/Effect"

/**
 * One law of transports, bound to the transport that is judged: run it in any runner of tests, or in none.
 *
 * @category models
 */
export interface TransportLaw {
  /** What it is about, such as `"handshake"`; laws of one topic stand together. */
  readonly topic: string
  /** What has to be so, with the ids of the requirements that it shows in front, as `[CAN-04]`. No two laws have the same. */
  readonly name: string
  /** Those ids: rules of the specification, as `REQUIREMENTS.md` lists them. */
  readonly requirements: ReadonlyArray<string>
  /**
   * Fails or dies where the law does not hold, and also where nothing comes of it in time. Each run starts from nothing. It does not
   * end before the transport's scope has closed, so one that never closes is for the runner's own timeout.
   */
  readonly run: Effect.Effect<void, unknown>
}

/**
 * A law of transports, as a value.
 *
 * @stability unstable
 */
import type * as Effect from "effect/Effect"

/**
 * The era of a law: the revisions with a handshake, or those without one.
 *
 * @category models
 */
export type Era = "legacy" | "modern"

/**
 * One law, bound to the transport under test. Any test runner can run it.
 *
 * @category models
 */
export interface TransportLaw {
  /** The era of the clients of the law. */
  readonly era: Era
  /** The topic, such as `"handshake"`, or `"matching (2026-07-28)"`. Laws of one topic follow each other. */
  readonly topic: string
  /**
   * The property, after the ids of the requirements that the law tests, such as `[CAN-04]`. Laws of the modern era end
   * with `(2026-07-28)`. Names are unique.
   */
  readonly name: string
  /** These ids: rules of the specification, as listed in `REQUIREMENTS.md`. */
  readonly requirements: ReadonlyArray<string>
  /**
   * Fails or dies if the law does not hold, or if it takes too long. Each run starts with a new connection. It ends
   * after the scope of the transport has closed; if that never happens, the time limit of the test runner applies.
   */
  readonly run: Effect.Effect<void, unknown>
}

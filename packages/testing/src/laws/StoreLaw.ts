/**
 * A law of stores, as a value.
 *
 * @stability unstable
 */
import type * as Effect from "effect/Effect"

/**
 * One law, bound to the store under test. Any test runner can run it.
 *
 * @category models
 */
export interface StoreLaw {
  /** The property, after the ids of the requirements that the law tests, such as `[SHS-17]`. Names are unique. */
  readonly name: string
  /** These ids: rules of the specification, as listed in `REQUIREMENTS.md`. */
  readonly requirements: ReadonlyArray<string>
  /**
   * Fails or dies if the law does not hold. Each run uses a store of its own, and sessions that did not exist before.
   */
  readonly run: Effect.Effect<void, unknown>
}

/**
 * Options for the laws of a store.
 *
 * @category models
 */
export interface Options {
  /** The number of runs of a property. Default: 100. A remote store may use fewer. */
  readonly runs?: number
}

/**
 * A law of stores, as a value.
 */
import type * as Effect from "effect/Effect"

/**
 * One law of stores, bound to the store that is judged: run it in any runner of tests, or in none.
 *
 * @category models
 */
export interface StoreLaw {
  /** What has to be so, with the ids of the requirements that it shows in front, as `[SHS-17]`. No two laws have the same. */
  readonly name: string
  /** Those ids: rules of the specification, as `REQUIREMENTS.md` lists them. */
  readonly requirements: ReadonlyArray<string>
  /** Fails or dies where the law does not hold. Each run has a store of its own, and sessions that were not there before. */
  readonly run: Effect.Effect<void, unknown>
}

/**
 * How stores are judged.
 *
 * @category models
 */
export interface Options {
  /** How often a property is tried. Default 100; a store that is far away can afford fewer. */
  readonly runs?: number
}

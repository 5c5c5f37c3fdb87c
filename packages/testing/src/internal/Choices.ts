import * as Effect from "effect/Effect"
import * as Random from "effect/Random"

/**
 * Choices that a seed decides. Each name has choices of its own, so that one more choice in one place changes none in another.
 */
export interface Choices {
  /** True about so often, from 0 (never) to 1 (always). */
  readonly chance: (probability: number) => boolean
  /** A whole number from 0 to one below this. */
  readonly below: (limit: number) => number
}

export const make = (seed: number, name: string): Choices => {
  const random = Effect.runSync(Random.withSeed(Effect.service(Random.Random), `${seed} ${name}`))
  return {
    chance: (probability) => probability > 0 && random.nextDoubleUnsafe() < probability,
    below: (limit) => Math.floor(random.nextDoubleUnsafe() * limit)
  }
}

/** Random decisions of a seed. */

import * as Effect from "effect/Effect"
import * as Random from "effect/Random"

/**
 * Random decisions of a seed. Each name has its own, so that an additional decision in one place changes none in
 * another.
 */
export interface Choices {
  /** Returns true with this probability, from 0 to 1. */
  readonly chance: (probability: number) => boolean
  /** Returns a whole number from 0 to one below this limit. */
  readonly below: (limit: number) => number
}

/** Creates a `Random` service of Effect from a seed and a name. */
export const random = (seed: number, name: string): typeof Random.Random["Service"] =>
  Effect.runSync(Random.withSeed(Effect.service(Random.Random), `${seed} ${name}`))

export const make = (seed: number, name: string): Choices => {
  const source = random(seed, name)
  return {
    chance: (probability) => probability > 0 && source.nextDoubleUnsafe() < probability,
    below: (limit) => Math.floor(source.nextDoubleUnsafe() * limit)
  }
}

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

/** Effect's random numbers, decided by a seed and a name. */
export const random = (seed: number, name: string): typeof Random.Random["Service"] =>
  Effect.runSync(Random.withSeed(Effect.service(Random.Random), `${seed} ${name}`))

export const make = (seed: number, name: string): Choices => {
  const source = random(seed, name)
  return {
    chance: (probability) => probability > 0 && source.nextDoubleUnsafe() < probability,
    below: (limit) => Math.floor(source.nextDoubleUnsafe() * limit)
  }
}

/** A search for an input in which a law does not hold, and for the simplest such one. */

import * as Arbitrary from "effect/Arbitrary"
import * as Effect from "effect/Effect"

/** A law that does not hold, and why. */
export interface Violation {
  readonly law: string
  readonly problem: string
}

/** The law of all simulations: also one that does not settle breaks it. */
export const everyRequestEnds = "law 1: every request ends"

/** The law of what is left after the end of all sessions. */
export const nothingLeft = "law 2: nothing is left"

/** Returns the violation of a simulation that threw this, because it does not end. */
export const unended = (thrown: unknown): ReadonlyArray<Violation> => [
  { law: everyRequestEnds, problem: thrown instanceof Error ? thrown.message : String(thrown) }
]

/** Returns the violations of a simulation, which breaks law 1 if it throws. */
export const ended = (judge: () => ReadonlyArray<Violation>): ReadonlyArray<Violation> => {
  try {
    return judge()
  } catch (thrown) {
    return unended(thrown)
  }
}

/** The extent of a search. */
export interface Options {
  /** The greatest number of inputs. */
  readonly runs: number
  /** The seed. The same seed generates the same inputs. */
  readonly seed: number | string
  /** The size to which inputs grow in the course of the search. Default: that of `effect/Arbitrary`. */
  readonly size?: number | undefined
  /** The greatest number of inputs to try in order to shrink a failing one. Default: 3,000. */
  readonly maxShrinks?: number | undefined
}

/** An input in which a law does not hold, after shrinking. The law that was found first is the first violation. */
export interface Found<Input> {
  readonly input: Input
  readonly violations: ReadonlyArray<Violation>
  /** The number of inputs up to the first failing one. */
  readonly runs: number
}

/** Judges inputs until a law does not hold, and shrinks that input. Returns `undefined` if all laws hold. */
export const run = <Input, E>(
  inputs: Arbitrary.Arbitrary<Input>,
  judge: (input: Input) => Effect.Effect<ReadonlyArray<Violation>, E>,
  { maxShrinks = 3000, runs, seed, size }: Options
): Effect.Effect<Found<Input> | undefined, E> =>
  Effect.gen(function*() {
    // A simpler input must break the same law.
    let broken: string | undefined
    // An input that cannot be judged ends the search. It counts as one that holds, so that it is not shrunk.
    let unjudged: Effect.Effect<never, E> | undefined
    const holds = (input: Input): boolean | Effect.Effect<boolean> =>
      unjudged !== undefined || judge(input).pipe(
        Effect.map((violations) => {
          broken ??= violations[0]?.law
          return violations.every(({ law }) => law !== broken)
        }),
        Effect.catch((error) => Effect.sync(() => (unjudged = Effect.fail(error)) !== undefined))
      )
    const checked = yield* Arbitrary.checkEffect(inputs, holds, { runs, seed, size, maxShrinks })
    if (unjudged !== undefined) return yield* unjudged
    if (checked._tag !== "Falsified") return undefined
    const { runs: until, shrunkInput: input } = checked
    const violations = (yield* judge(input)).toSorted((a, b) => Number(b.law === broken) - Number(a.law === broken))
    return { input, violations, runs: until }
  })

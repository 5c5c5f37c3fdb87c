/** Properties with readable faults. */
import { assert } from "@effect/vitest"
import * as Arbitrary from "effect/Arbitrary"
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"

/** A property that does not hold. */
export class Fault extends Data.TaggedError("Fault")<{ readonly message: string }> {}

/** Fails with the problem, if there is one. */
export const hold = (problem: string | undefined): Effect.Effect<boolean, Fault> =>
  problem === undefined ? Effect.succeed(true) : Effect.fail(new Fault({ message: problem }))

/** Checks a property, and reports the simplest value that falsifies it. */
export const holds = <A, E>(
  arbitrary: Arbitrary.Arbitrary<A>,
  property: (value: A) => Effect.Effect<boolean, E>,
  runs: number
): Effect.Effect<void> =>
  Effect.map(Arbitrary.checkEffect(arbitrary, property, { runs, maxShrinks: 300 }), (outcome) => {
    assert.strictEqual(outcome._tag, "Passed", Arbitrary.formatCheckFailure(outcome))
  })

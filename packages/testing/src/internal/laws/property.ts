/** Properties of the laws. */

import * as Arbitrary from "effect/Arbitrary"
import * as Effect from "effect/Effect"
import * as assert from "node:assert/strict"

/** Checks a property for generated values. A failure or an exception is reported with the simplest value. */
export const holdsFor = <A, E>(
  arbitrary: Arbitrary.Arbitrary<A>,
  body: (value: A) => Effect.Effect<void, E>,
  runs: number
): Effect.Effect<void> =>
  Effect.map(
    Arbitrary.checkEffect(
      arbitrary,
      (value) =>
        Effect.as(Effect.catchDefect(body(value), (thrown): Effect.Effect<void, unknown> => Effect.fail(thrown)), true),
      { runs, size: 40, maxShrinks: 300 }
    ),
    (outcome) => assert.strictEqual(outcome._tag, "Passed", Arbitrary.formatCheckFailure(outcome))
  )

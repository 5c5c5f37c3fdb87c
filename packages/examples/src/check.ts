/**
 * A check that prints an observation, and fails the program if the observation is wrong.
 */
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import * as Transcript from "./transcript.ts"

/** The error of a check that failed. */
export class CheckFailed extends Data.TaggedError("CheckFailed")<{ readonly message: string }> {}

/** Prints an observation, and fails if it is wrong. */
export const check = (isExpected: boolean, observation: string): Effect.Effect<void, CheckFailed> =>
  Effect.suspend(() => {
    if (isExpected) {
      Transcript.passed(observation)
      return Effect.void
    }
    Transcript.failed(observation)
    return Effect.fail(new CheckFailed({ message: `check failed: ${observation}` }))
  })

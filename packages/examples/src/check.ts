/**
 * A check that makes the demonstration fail if it does not observe what it prints.
 */
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import * as Transcript from "./transcript.ts"

/** The error of a check that failed. */
export class Unexpected extends Data.TaggedError("Unexpected")<{ readonly message: string }> {}

/** Prints an observation, and fails if it is wrong. */
export const check = (isExpected: boolean, seen: string): Effect.Effect<void, Unexpected> =>
  Effect.suspend(() => {
    if (isExpected) {
      Transcript.passed(seen)
      return Effect.void
    }
    Transcript.failed(seen)
    return Effect.fail(new Unexpected({ message: `This should not have been: ${seen}` }))
  })

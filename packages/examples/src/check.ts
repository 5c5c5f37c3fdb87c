/**
 * What makes the demonstration more than a picture: it fails where it does not see what it says.
 */
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import * as Transcript from "./transcript.ts"

/** Something did not happen as it should. */
export class Unexpected extends Data.TaggedError("Unexpected")<{ readonly message: string }> {}

/** Prints what was seen, and fails if it is not what was to be seen. */
export const check = (isExpected: boolean, seen: string): Effect.Effect<void, Unexpected> =>
  Effect.suspend(() => {
    if (isExpected) {
      Transcript.passed(seen)
      return Effect.void
    }
    Transcript.failed(seen)
    return Effect.fail(new Unexpected({ message: `This should not have been: ${seen}` }))
  })

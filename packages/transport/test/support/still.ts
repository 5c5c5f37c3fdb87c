import * as Effect from "effect/Effect"

/** Waits until this number does not change any more, by the machine's own clock. */
export const still = (count: () => number): Effect.Effect<number> =>
  Effect.gen(function*() {
    let before = -1
    while (before !== count()) {
      before = count()
      yield* Effect.promise(() => new Promise((resolve) => setTimeout(resolve, 200)))
    }
    return before
  })

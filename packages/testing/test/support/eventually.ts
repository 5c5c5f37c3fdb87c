import * as Effect from "effect/Effect"

/** Waits until something is so; the test's own timeout is the bound. */
export const eventually = <E>(check: Effect.Effect<boolean, E>): Effect.Effect<void, E> =>
  Effect.flatMap(check, (is) => is ? Effect.void : Effect.andThen(Effect.sleep("5 millis"), eventually(check)))

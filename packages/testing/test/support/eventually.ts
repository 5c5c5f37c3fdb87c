import * as Effect from "effect/Effect"

/** Waits until a condition holds. The time limit of the test applies. */
export const eventually = <E>(check: Effect.Effect<boolean, E>): Effect.Effect<void, E> =>
  Effect.flatMap(check, (is) => is ? Effect.void : Effect.andThen(Effect.sleep("5 millis"), eventually(check)))

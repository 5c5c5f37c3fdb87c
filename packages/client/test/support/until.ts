/** Waits for conditions of the outside world, which no event tells of. */
import * as Effect from "effect/Effect"

/** Waits until a condition holds. */
export const until = (is: () => boolean): Effect.Effect<void> =>
  Effect.suspend(() => is() ? Effect.void : Effect.andThen(Effect.sleep(10), until(is)))

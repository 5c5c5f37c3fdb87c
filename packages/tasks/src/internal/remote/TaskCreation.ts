/** The response to a call that becomes a task. */

import type { RequestError } from "@effect-mcp/session/RequestError"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"

/**
 * Waits for the response that has the id of a task. An interruption before it must send no cancellation (CAN-03), so
 * the request goes on without its caller, and a task that is created nevertheless is cancelled by its id.
 */
export const untilAnswered = <A, R>(
  created: Effect.Effect<A, RequestError, R>,
  cancel: (created: A) => Effect.Effect<unknown, RequestError>
): Effect.Effect<A, RequestError, R> =>
  Effect.uninterruptibleMask((restore) =>
    Effect.flatMap(
      Effect.forkDetach(restore(created), { startImmediately: true }),
      (fiber) =>
        Effect.onInterrupt(
          restore(Fiber.join(fiber)),
          () => Effect.asVoid(Effect.forkDetach(Effect.ignore(Effect.flatMap(Fiber.join(fiber), cancel))))
        )
    )
  )

/** Operations of an engine whose store may be away for a while. */

import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Predicate from "effect/Predicate"

/** The time before an operation is tried again, in milliseconds. */
export const pauseMillis = 1_000

/** The errors of Effect Cluster that pass. A defect that was stored is another object, without these tags. */
const passing: ReadonlySet<unknown> = new Set([
  "PersistenceError",
  "MailboxFull",
  "AlreadyProcessingMessage",
  "EntityNotAssignedToRunner",
  "RunnerUnavailable"
])

/** Returns whether an operation has failed because its engine could not reach its store or another process. */
export const isAway = ({ reasons }: Cause.Cause<unknown>): boolean =>
  reasons.some((reason) =>
    Cause.isDieReason(reason) && Predicate.hasProperty(reason.defect, "_tag") && passing.has(reason.defect._tag)
  )

/** Tries an operation that reads or writes a value until the store does it. */
export const retrying = <A, E, R>(operation: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  Effect.catchCause(operation, (cause) =>
    Cause.hasDies(cause)
      ? Effect.andThen(Effect.sleep(pauseMillis), retrying(operation))
      : Effect.failCause(cause))

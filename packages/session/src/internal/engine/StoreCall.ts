/** Calls of the stores of sessions, of their events and of their owners. Each has a deadline, and is measured. */

import * as Cause from "effect/Cause"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Metric from "effect/Metric"
import { SupersededError } from "../../SupersededError.ts"
import * as StoreMetrics from "../telemetry/StoreMetrics.ts"
import * as ForeignCall from "./ForeignCall.ts"

/** The services that are measured. */
export type Store = "SessionStore" | "EventStore" | "OwnerStore"

/** Returns the label of a failed call. */
const errorOf = (failure: unknown): string =>
  failure instanceof SupersededError || failure instanceof ForeignCall.TimedOut ? failure._tag : "_OTHER"

/**
 * Runs an operation of a store. Fails with `TimedOut` after `millis`, as `ForeignCall.within`. The duration of an
 * operation that has its result at once, as one of a store in memory, is not measured.
 */
export const within = <A, E>(
  store: Store,
  operation: string,
  millis: number,
  call: () => Effect.Effect<A, E>
): Effect.Effect<A, E | ForeignCall.TimedOut> =>
  Effect.withFiber((fiber) => {
    const clock = fiber.getRef(Clock.Clock)
    const startedAt = clock.monotonicTimeNanosUnsafe()
    const made = call()
    const isInstant = Exit.isExit(made)
    const running = isInstant ? made : ForeignCall.within(`${store}.${operation}`, millis, () => made)
    return Effect.onExitPrimitive(running, (exit) => {
      const failure = Exit.isSuccess(exit) ? undefined : Cause.squash(exit.cause)
      const ofStore = { "mcp.store.name": store }
      if (failure instanceof SupersededError) {
        Metric.withAttributes(StoreMetrics.writesSuperseded, ofStore).updateUnsafe(1, fiber.context)
      }
      // One that was interrupted says nothing of the store.
      if (isInstant || (Exit.isFailure(exit) && Cause.hasInterruptsOnly(exit.cause))) return undefined
      Metric.withAttributes(StoreMetrics.operationDuration, {
        ...ofStore,
        "mcp.store.operation": operation,
        ...(Exit.isSuccess(exit) ? undefined : { "error.type": errorOf(failure) })
      }).updateUnsafe(Number(clock.monotonicTimeNanosUnsafe() - startedAt) / 1e9, fiber.context)
      return undefined
    })
  })

/** The implementation of `ChangeBus` over any connection. */

import type * as Cause from "effect/Cause"
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Latch from "effect/Latch"
import type * as Scope from "effect/Scope"
import * as Metrics from "../../Metrics.ts"
import { monotonicMillis } from "../monotonicMillis.ts"
import { randomUUID } from "../webCrypto.ts"
import type { ChangeBusShape, ChangeConnection, ChangeListener } from "./ChangeBusShape.ts"
import * as ChangeMessage from "./ChangeMessage.ts"
import { GapReports } from "./GapReports.ts"
import { Outage } from "./Outage.ts"
import { PendingChanges } from "./PendingChanges.ts"
import * as Receiving from "./Receiving.ts"
import { deadlineMillis, Sending } from "./Sending.ts"

/** The bounds of the changes that wait to be sent. */
export interface Bounds {
  readonly capacity: number
  readonly bytes: number
}

/** The time in which a bus that ends sends what waits, in milliseconds. */
const flushMillis = 1_000

/** Makes a bus, and waits until it is connected, at most for the deadline of a connection. */
export const make = (
  connection: ChangeConnection,
  bounds: Bounds
): Effect.Effect<ChangeBusShape, never, Scope.Scope> =>
  Effect.gen(function*() {
    const clock = yield* Clock.Clock
    const context = yield* Effect.context()
    const fork = Effect.runForkWith(context)
    const now = () => monotonicMillis(clock)
    const id = randomUUID()
    const listeners = new Map<string, Set<ChangeListener>>()
    const hasConnected = Latch.makeUnsafe(false)
    let isConnected = false

    /** Calls the listeners of a scope. One that throws does not affect the others. */
    const call = (scope: string, report: (listener: ChangeListener) => void): void => {
      for (const listener of listeners.get(scope) ?? []) {
        try {
          report(listener)
        } catch (thrown) {
          fork(Effect.logError("ChangeBus: a listener threw", thrown))
        }
      }
    }

    const outage = new Outage((message: string, cause: Cause.Cause<unknown>) => {
      fork(Effect.logWarning(message, cause))
    })
    const pending = new PendingChanges(id, { ...bounds, messageBytes: connection.messageBytes })
    const sending = new Sending({ connection, pending, outage, fork })
    const gaps = new GapReports({
      now,
      fork,
      deliver: (scopes) => {
        Metrics.changeBusGaps.updateUnsafe(1, context)
        for (const scope of scopes) call(scope, ({ onGap }) => onGap())
      }
    })

    const receiving = Receiving.run({
      connection,
      outage,
      now,
      fork,
      probe: () => ChangeMessage.encode(id, new Set(), []),
      onConnected: () => {
        isConnected = true
        outage.end("receive")
        // This bus has not received what the others have published until now.
        gaps.report(listeners.keys())
        // It continues the caller of `make` at once, who may add listeners.
        Latch.openUnsafe(hasConnected)
      },
      onMessage: ({ changes, from, lost }) => {
        if (from === id) return
        const scopes = lost === "all" ? [...listeners.keys()] : [...lost].filter((scope) => listeners.has(scope))
        gaps.report(scopes)
        for (const change of changes) call(change.scope, ({ onChange }) => onChange(change))
      },
      onGap: () => gaps.report(listeners.keys())
    }, () => {
      isConnected = false
    })

    yield* Effect.acquireRelease(
      Effect.sync(() => fork(receiving)),
      (fiber) =>
        Effect.gen(function*() {
          yield* Effect.timeoutOption(Effect.interruptible(sending.flushed), Duration.millis(flushMillis))
          isConnected = false
          listeners.clear()
          sending.stop()
          gaps.stop()
          yield* Fiber.interrupt(fiber)
        })
    )
    yield* Effect.timeoutOption(Latch.await(hasConnected), Duration.millis(deadlineMillis))

    return {
      publish: (change) => Effect.sync(() => sending.publish(change)),
      subscribe: (listener) =>
        Effect.acquireRelease(
          Effect.sync(() => {
            const { scope } = listener
            listeners.set(scope, (listeners.get(scope) ?? new Set()).add(listener))
          }),
          () =>
            Effect.sync(() => {
              const others = listeners.get(listener.scope)
              others?.delete(listener)
              if (others?.size === 0) listeners.delete(listener.scope)
            })
        ),
      isConnected: Effect.sync(() => isConnected)
    }
  })

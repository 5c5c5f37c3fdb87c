/**
 * The shutdown of a session.
 *
 * When it begins, the state of the session has a `reason`, and all pending requests have failed with it. Then, in this
 * order:
 *
 * 1. Handlers and queued notifications finish: for `gracefulTimeout`, or, if the peer has ended its output, for no
 *    longer than the transport keeps ours open. `HandlerCutoff` ends this step early.
 * 2. The handlers that are left are interrupted, and their requests get no reply. Their finalizers have one second.
 * 3. The outbox sends the waiting messages, for a limited time. Then it stops: a message that still waits fails, and so
 *    does a later one.
 * 4. The timer stops, the transport receives the close reason, and the scope of the connection closes, by the
 *    transport's own shutdown sequence. The read loop has one second to end.
 *
 * `shorten` ends the work that another mode than `Graceful` does not wait for: at the beginning of the shutdown, or
 * while it runs. The steps that wait for this work are then over at once.
 */

import type { CloseReason } from "@effect-mcp/protocol"
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Scope from "effect/Scope"
import type { Limits } from "../../Limits.ts"
import type { Connection } from "../../Transport.ts"
import { isBatch } from "./Batch.ts"
import { HandlerCutoff } from "./HandlerCutoff.ts"
import type { IncomingRequests } from "./IncomingRequests.ts"
import type { NotificationQueue } from "./NotificationQueue.ts"
import type { Outbox } from "./Outbox.ts"
import type { Replies } from "./Replies.ts"
import type { Timer } from "./Timer.ts"

/** The milliseconds that interrupted handlers have for their finalizers before the session closes. */
const cleanupMillis = 1000

/** The milliseconds that a session has after `gracefulTimeout`, to clean up and to send waiting messages. */
const extraMillis = 3000

/**
 * The work that a shutdown waits for. `Graceful`: handlers and their replies. `DrainInbound`: notifications that have
 * arrived, because the peer reads no more replies. `Immediate`: none.
 */
export type ShutdownMode = "Graceful" | "DrainInbound" | "Immediate"

/** The session that shuts down. */
export interface ShutdownDependencies {
  readonly connection: Connection
  readonly context: Context.Context<never>
  readonly inflight: IncomingRequests
  readonly limits: Limits
  readonly notifications: NotificationQueue
  readonly outbox: Outbox
  readonly replies: Replies
  readonly timer: Timer
}

/** The scope of the connection, and its read loop, if it has started. */
export interface Connected {
  readonly scope: Scope.Closeable
  readonly reader: () => Fiber.Fiber<void> | undefined
}

/** Waits for an effect, for a limited time. */
const within = (wait: Effect.Effect<unknown>, millis: number): Effect.Effect<void> =>
  Effect.asVoid(Effect.timeoutOption(Effect.interruptible(wait), Duration.millis(millis)))

/**
 * Interrupts all handlers. Their requests get no reply, and the other requests of their batches do not wait for them.
 */
const interruptRequests = ({ inflight, replies }: ShutdownDependencies): void => {
  for (const { origin } of inflight.interruptAll()) if (isBatch(origin)) replies.settle(origin)
}

/** Interrupts the handlers of requests and of notifications. Waiting messages are still sent. */
export const interruptHandlers = (session: ShutdownDependencies): void => {
  interruptRequests(session)
  session.notifications.stop()
}

/** Ends the work that a shutdown of this mode does not wait for. */
export const shorten = (session: ShutdownDependencies, mode: Exclude<ShutdownMode, "Graceful">): void => {
  interruptRequests(session)
  if (mode === "Immediate") session.notifications.stop()
  session.outbox.stop()
}

/** Returns the methods whose handlers are left, with the number of their fibers. */
export const unfinished = (
  { inflight, notifications }: ShutdownDependencies
): ReadonlyArray<{ readonly method: string; readonly count: number }> => {
  const method = notifications.unfinished()
  return method === undefined ? inflight.unfinished() : [...inflight.unfinished(), { method, count: 1 }]
}

/** Finishes the work of a session, and closes its connection. */
export const run = (
  session: ShutdownDependencies,
  { reader, scope }: Connected,
  reason: CloseReason.CloseReason
): Effect.Effect<void> => {
  const { connection, context, inflight, limits, notifications, outbox, timer } = session
  const finishMillis = reason._tag === "PeerEnded" && connection.halfCloseMillis !== undefined
    ? Math.min(limits.gracefulTimeout, connection.halfCloseMillis)
    : limits.gracefulTimeout
  const handled = Effect.andThen(inflight.drained, notifications.drained)
  const handledOrCutOff = Effect.raceFirst(handled, Context.get(context, HandlerCutoff))
  // Most sessions end while nothing is in flight, and then need no clock.
  const isBusy = () => inflight.size > 0 || !notifications.isIdle
  return Effect.gen(function*() {
    const began = timer.now()
    if (isBusy()) yield* within(handledOrCutOff, finishMillis)
    interruptHandlers(session)
    if (isBusy()) yield* within(handled, cleanupMillis)
    // Before the transport closes, all of this takes at most three seconds longer than `gracefulTimeout`.
    const left = limits.gracefulTimeout + extraMillis - (timer.now() - began)
    if (!outbox.isIdle) yield* within(outbox.flushed, Math.max(Math.min(limits.gracefulTimeout, left), 0))
    outbox.stop()
    timer.stop()
    const reading = reader()
    reading?.interruptUnsafe()
    connection.onSessionEnd?.(reason)
    yield* Scope.close(scope, Exit.void)
    if (reading !== undefined && reading.pollUnsafe() === undefined) {
      yield* within(Fiber.await(reading), cleanupMillis)
    }
  })
}

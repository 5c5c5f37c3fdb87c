/** The watchdog of a server: one fiber that keeps streams alive, aborts stalled responses, and runs timeouts. */
import { monotonicMillis } from "@effect-mcp/session/internal"
import { MemoryBudget } from "@effect-mcp/session/MemoryBudget"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import type * as Scope from "effect/Scope"
import * as Sse from "../../../Sse.ts"
import * as WatchLoop from "../../shared/WatchLoop.ts"
import { isDone } from "./isDone.ts"
import type { SseResponseBody } from "./SseResponseBody.ts"

/** An action that runs at its time, unless it is cancelled. */
export interface Timeout {
  readonly at: number
  readonly run: () => void
}

/**
 * The watchdog of one server. It has one fiber for all streams and timeouts, and none while there are none. It sends
 * comments to silent streams, so that no proxy closes their connections as dead; and it aborts responses whose clients
 * read nothing.
 */
export interface StreamWatchdog {
  /** The budget of the process, which unread events are charged to. */
  readonly budget: MemoryBudget
  /** Milliseconds on a clock that never jumps. */
  readonly now: () => number
  readonly watch: (body: SseResponseBody) => void
  readonly unwatch: (body: SseResponseBody) => void
  /** Runs this action after a time, unless it is cancelled before. */
  readonly schedule: (afterMillis: number, run: () => void) => Timeout
  readonly cancel: (timeout: Timeout) => void
  /** Runs an effect in the background, which ends by itself. A failure is logged. */
  readonly run: (effect: Effect.Effect<void, unknown>) => void
  /** Waits for the background effects that run at the time of the call, for at most two calls of a store. */
  readonly settled: () => Effect.Effect<void>
}

/** The record of one stream that is watched. */
interface Tracked {
  /** The time of the last bytes that were sent. */
  sentAt: number
  /** The number of rounds in a row in which the client read nothing of what waited for it. */
  stalledRounds: number
}

/** The number of rounds within the shortest timeout. */
const rounds = 4

/** The bounds on the time between two rounds. */
const shortestMillis = 10
const longestMillis = 60_000

/** The calls of a store that one stream may have queued: an append that has begun, and its last append or its end. */
const queuedCalls = 2

/** The time beyond these calls until their effects have ended, also on a busy machine. */
const settleMarginMillis = 1000

/** Makes the watchdog of a server, which ends with the scope. */
export const make = Effect.fnUntraced(function*(options: {
  readonly keepAliveMillis: number
  readonly stallMillis: number
  readonly detachedMillis: number
  /** The time in which the body of a request must arrive. Default: there are no bodies. */
  readonly bodyMillis?: number
  /** The timeout of one call of the event store. Default: there is no store. */
  readonly storeMillis?: number
}): Effect.fn.Return<StreamWatchdog, never, Scope.Scope> {
  const { detachedMillis, keepAliveMillis, stallMillis } = options
  const { bodyMillis = Number.POSITIVE_INFINITY, storeMillis = 0 } = options
  const settleMillis = queuedCalls * storeMillis + settleMarginMillis
  const clock = yield* Clock.Clock
  const runFork = Effect.runForkWith(yield* Effect.context<never>())
  const streams = new Map<SseResponseBody, Tracked>()
  const timeouts = new Set<Timeout>()
  const shortest = Math.min(keepAliveMillis, stallMillis, detachedMillis, bodyMillis)
  const roundMillis = Math.min(Math.max(shortest / rounds, shortestMillis), longestMillis)
  const background = new Set<Fiber.Fiber<void>>()
  const now = () => monotonicMillis(clock)
  let lastRoundAt = now()

  const round = () => {
    const time = now()
    for (const [body, tracked] of streams) {
      // Counts rounds, not only time: during a pause of the whole process no client had a chance to read.
      tracked.stalledRounds = body.isStalledSince(lastRoundAt) ? tracked.stalledRounds + 1 : 0
      if (tracked.stalledRounds >= rounds && body.isStalledSince(time - stallMillis)) body.abort()
      else if (body.takenAt > tracked.sentAt) tracked.sentAt = body.takenAt
      else if (tracked.sentAt <= time - keepAliveMillis && !body.isFull) {
        tracked.sentAt = time
        body.put(Sse.comment("still here"))
      }
    }
    lastRoundAt = time
    // A copy: a timeout that is scheduled by one of these waits for the next round, also if it is due at once.
    const due = Array.from(timeouts).filter(({ at }) => at <= time)
    for (const timeout of due) if (timeouts.delete(timeout)) timeout.run()
    return streams.size > 0 || timeouts.size > 0
  }

  // The fiber serves all clients: a defect in the work for one of them must not end it.
  const safeRound = Effect.catchCause(
    Effect.sync(round),
    (cause) =>
      Effect.as(Effect.logWarning("the stream watchdog failed for one stream or timeout, and continues", cause), true)
  )
  const start = yield* WatchLoop.make(roundMillis, safeRound)

  return {
    budget: yield* MemoryBudget,
    now,
    watch: (body) => {
      streams.set(body, { sentAt: now(), stalledRounds: 0 })
      start()
    },
    unwatch: (body) => void streams.delete(body),
    schedule: (afterMillis, run) => {
      const timeout = { at: now() + afterMillis, run }
      timeouts.add(timeout)
      start()
      return timeout
    },
    cancel: (timeout) => void timeouts.delete(timeout),
    run: (effect) => {
      if (isDone(effect)) return
      const fiber = runFork(
        Effect.catchCause(effect, (cause) => Effect.logWarning("background work of an HTTP server failed", cause))
      )
      if (fiber.pollUnsafe() !== undefined) return
      background.add(fiber)
      fiber.addObserver(() => background.delete(fiber))
    },
    settled: () =>
      background.size === 0
        ? Effect.void
        : Effect.asVoid(
          Effect.timeoutOption(Effect.interruptible(Fiber.awaitAll(Array.from(background))), settleMillis)
        )
  }
})

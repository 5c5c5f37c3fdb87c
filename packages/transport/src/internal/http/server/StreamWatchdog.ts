import { MemoryBudget } from "@effect-mcp/session/MemoryBudget"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import type * as Scope from "effect/Scope"
import * as EventStreamFraming from "../../../EventStreamFraming.ts"
import { monotonicMillis } from "../../shared/monotonicMillis.ts"
import type { SseResponseBody } from "./SseResponseBody.ts"

/** Something that will be done at its time, unless it is no longer to be. */
export interface Appointment {
  readonly at: number
  readonly keep: () => void
}

/**
 * Who looks after all that waits in a server: one fiber for everything, and none while nothing waits. It says something to readers
 * that have heard nothing for long, so that nobody on the way takes the connection for dead; it breaks off those that take nothing;
 * and it keeps appointments.
 */
export interface StreamWatchdog {
  /** The budget of the process, which what waits for readers is charged to. */
  readonly budget: MemoryBudget
  /** Milliseconds on a clock that never jumps. */
  readonly now: () => number
  readonly attend: (reader: SseResponseBody) => void
  readonly leave: (reader: SseResponseBody) => void
  /** Makes an appointment. It is not kept if it has been cancelled. */
  readonly appoint: (afterMillis: number, keep: () => void) => Appointment
  readonly cancel: (appointment: Appointment) => void
  /** Runs something in the background, which ends by itself. A failure is logged. */
  readonly run: (effect: Effect.Effect<void, unknown>) => void
  /** Waits for what runs in the background when this is called, for 5 seconds at most. */
  readonly settled: () => Effect.Effect<void>
}

/** What it knows of a reader. */
interface Care {
  /** When something was said to it last. */
  spokenAt: number
  /** How often in a row it had taken nothing since the look before, though there was something. */
  waits: number
}

/** How often it looks in the shortest time that it has to keep. */
const looks = 4

/** How long it goes without looking, at least and at most. */
const shortestMillis = 10
const longestMillis = 60_000

/** The longest wait for what runs in the background. */
const patienceMillis = 5000

export const make = Effect.fnUntraced(function*(options: {
  readonly keepAliveMillis: number
  readonly stallMillis: number
  readonly unattendedMillis: number
  /** The longest time in which the body of a request may arrive, where bodies are received. */
  readonly bodyMillis?: number
}): Effect.fn.Return<StreamWatchdog, never, Scope.Scope> {
  const { bodyMillis = Number.POSITIVE_INFINITY, keepAliveMillis, stallMillis, unattendedMillis } = options
  const clock = yield* Clock.Clock
  const scope = yield* Effect.scope
  const runFork = Effect.runForkWith(yield* Effect.context<never>())
  const readers = new Map<SseResponseBody, Care>()
  const appointments = new Set<Appointment>()
  const shortest = Math.min(keepAliveMillis, stallMillis, unattendedMillis, bodyMillis)
  const turn = Math.min(Math.max(shortest / looks, shortestMillis), longestMillis)
  const running = new Set<Fiber.Fiber<void>>()
  const now = () => monotonicMillis(clock)
  let watching = false

  let lookedAt = now()

  const look = () => {
    const time = now()
    for (const [reader, care] of readers) {
      // A time in which nothing could be done at all is no time in which nothing was taken.
      care.waits = reader.isStalledSince(lookedAt) ? care.waits + 1 : 0
      if (care.waits >= looks && reader.isStalledSince(time - stallMillis)) reader.breakOff()
      else if (reader.takenAt > care.spokenAt) care.spokenAt = reader.takenAt
      else if (care.spokenAt <= time - keepAliveMillis && !reader.isFull) {
        care.spokenAt = time
        reader.put(EventStreamFraming.comment("still here"))
      }
    }
    lookedAt = time
    // One that is made now waits for the next look, also if it is due at once.
    const due = Array.from(appointments).filter(({ at }) => at <= time)
    for (const appointment of due) if (appointments.delete(appointment)) appointment.keep()
    watching = readers.size > 0 || appointments.size > 0
  }

  // The fiber looks after all clients of a server: a defect that concerns one of them must not end it.
  const looked = Effect.catchCause(
    Effect.sync(look),
    (cause) => Effect.logWarning("a client of a server could not be looked after", cause)
  )

  const watch = () => {
    if (watching) return
    watching = true
    const turns = Effect.whileLoop({
      while: () => watching,
      body: () => Effect.andThen(Effect.sleep(turn), looked),
      step: () => {}
    })
    Fiber.runIn(runFork(turns), scope)
  }

  return {
    budget: yield* MemoryBudget,
    now,
    attend: (reader) => {
      readers.set(reader, { spokenAt: now(), waits: 0 })
      watch()
    },
    leave: (reader) => void readers.delete(reader),
    appoint: (afterMillis, keep) => {
      const appointment = { at: now() + afterMillis, keep }
      appointments.add(appointment)
      watch()
      return appointment
    },
    cancel: (appointment) => void appointments.delete(appointment),
    run: (effect) => {
      if (Exit.isExit(effect) && Exit.isSuccess(effect)) return
      const fiber = runFork(
        Effect.catchCause(effect, (cause) => Effect.logWarning("work in the background of a server failed", cause))
      )
      if (fiber.pollUnsafe() !== undefined) return
      running.add(fiber)
      fiber.addObserver(() => running.delete(fiber))
    },
    settled: () =>
      running.size === 0
        ? Effect.void
        : Effect.asVoid(Effect.timeoutOption(Effect.interruptible(Fiber.awaitAll(Array.from(running))), patienceMillis))
  }
})

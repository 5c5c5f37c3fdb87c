/**
 * A runtime with a virtual clock and a deterministic scheduler. Programs in it run at once, in an order that its seed
 * determines, as far as they can without time passing.
 *
 * Its clock is a `TestClock` for these programs. In contrast to `TestClock.layer`, no fiber moves the clock: the caller
 * of {@link VirtualRuntime} does, outside of the runtime, and a virtual hour is one function call. Programs in it must
 * not wait for real I/O: no file, no socket. If they wait for promises, the caller waits for a macrotask after each
 * step, and calls `act` while `hasReady` returns `true`.
 *
 * The servers in it seal the states of their questions with a `RequestStateSeal` that writes the same texts in each
 * run, and whose states no other runtime can open.
 *
 * @stability unstable
 */
import { RequestStateSeal, UsedStates } from "@effect-mcp/session"
import { SessionId } from "@effect-mcp/session/internal"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Data from "effect/Data"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import type * as Fiber from "effect/Fiber"
import * as Latch from "effect/Latch"
import * as Logger from "effect/Logger"
import * as Metric from "effect/Metric"
import * as Random from "effect/Random"
import * as Scheduler from "effect/Scheduler"
import type * as TestClock from "effect/testing/TestClock"
import * as FiberCount from "./FiberCount.ts"
import * as Choices from "./internal/runtime/Choices.ts"
import * as ReproducibleSeal from "./internal/runtime/ReproducibleSeal.ts"

/**
 * Options of a runtime.
 *
 * @category models
 */
export interface Options {
  /** The seed of the order of ready fibers, and of Effect's `Random`. */
  readonly seed: number
  /** The order in which ready fibers run. Default: the order in which they became ready. */
  readonly interleaving?: "Fair" | "Random" | undefined
}

/**
 * A runtime, as its caller sees it.
 *
 * @category models
 */
export interface VirtualRuntime {
  /** The clock of the programs in it. */
  readonly clock: TestClock.TestClock
  /** Returns its time in milliseconds; it starts at 0. */
  readonly now: () => number
  /** Starts a program, which runs at once as far as it can. */
  readonly start: <A, E>(effect: Effect.Effect<A, E>) => Fiber.Fiber<A, E>
  /** Calls a function, and then runs all fibers that became ready. */
  readonly act: (action: () => void) => void
  /** Advances the clock by this number of milliseconds, and runs everything that becomes due. */
  readonly advance: (millis: number) => void
  /** Returns the number of fibers that are alive. */
  readonly living: () => number
  /** Returns the time at which the next sleeping fiber is due, or `undefined` if no fiber sleeps. */
  readonly nextDue: () => number | undefined
  /** Returns whether fibers are ready that something outside has resumed. They run with the next function called. */
  readonly hasReady: () => boolean
  /**
   * Returns whether something outside has resumed a fiber: a timer of the platform, a promise or a socket. The programs
   * are not reproducible then.
   */
  readonly isResumedFromOutside: () => boolean
}

/**
 * The error of a runtime that does not settle: a program in it takes step after step without time passing. The function
 * that ran the program throws it. A runtime with the same seed reaches the same step again.
 *
 * @example
 * ```ts
 * import { VirtualRuntime } from "@effect-mcp/testing"
 * import * as Effect from "effect/Effect"
 *
 * const attempt = (): unknown => {
 *   try {
 *     return VirtualRuntime.make({ seed: 1 }).start(Effect.forever(Effect.yieldNow))
 *   } catch (thrown) {
 *     return thrown instanceof VirtualRuntime.NotSettledError ? thrown.message : thrown
 *   }
 * }
 * export const message = attempt()
 * // => "a program took 200000 steps at 0 ms without time passing; add a sleep to it"
 * ```
 *
 * @category errors
 */
export class NotSettledError extends Data.TaggedError("NotSettledError")<{
  /** The seed of the runtime. */
  readonly seed: number
  /** The time of the runtime, in milliseconds. */
  readonly at: number
  /** The number of steps since time passed. */
  readonly steps: number
}> {
  override get message(): string {
    // Without the seed: a simulation has one of its own, which its report names.
    const { at, steps } = this
    return `a program took ${steps} steps at ${at} ms without time passing; add a sleep to it`
  }
}

/** The greatest number of steps without time passing. */
const maxSteps = 200_000

interface Task {
  readonly run: () => void
  readonly priority: number
}

interface Sleep {
  readonly until: number
  readonly latch: Latch.Latch
}

/** Returns the texts with which the request ids of restored sessions begin. */
const prefixes = (seed: number): () => string => {
  const { below } = Choices.make(seed, "prefixes")
  return () => `${below(2 ** 52).toString(36)}-`
}

/** Creates a scheduler that runs ready tasks by priority, the lowest number first. */
const makeScheduler = (choose: (count: number) => number, notSettled: () => NotSettledError) => {
  let ready: Array<Task> = []
  const next = (): Task | undefined => {
    if (ready.length < 2) return ready.pop()
    const lowest = ready.reduce((least, { priority }) => Math.min(least, priority), Number.POSITIVE_INFINITY)
    const first = ready.filter(({ priority }) => priority === lowest)
    const chosen = first[choose(first.length)]
    ready = ready.filter((task) => task !== chosen)
    return chosen
  }
  let depth = 0
  let fromOutside = false
  /** Calls a function, and then runs all tasks that became ready. */
  const enter = <A>(action: () => A): A => {
    depth++
    try {
      const outcome = action()
      settle()
      return outcome
    } finally {
      depth--
    }
  }
  const settle = () => {
    for (let steps = 0; ready.length > 0; steps++) {
      if (steps > maxSteps) throw notSettled()
      next()?.run()
    }
  }
  const dispatcher: Scheduler.SchedulerDispatcher = {
    scheduleTask: (run, priority) => {
      ready.push({ run, priority })
    },
    flush: settle
  }
  const scheduler: Scheduler.Scheduler = {
    executionMode: "async",
    shouldYield: (fiber) => {
      // A fiber calls this at each step. Outside of `enter`, only a timer, a promise or a socket can have resumed it.
      if (depth === 0) fromOutside = true
      return fiber.currentOpCount >= fiber.cache.maxOpsBeforeYield
    },
    makeDispatcher: () => dispatcher
  }
  return { scheduler, enter, settle, hasReady: () => ready.length > 0, isResumedFromOutside: () => fromOutside }
}

const makeClock = (settle: () => void) => {
  // Sorted by due time, the earliest last. Of those with the same time, the first to sleep is last.
  const sleeps: Array<Sleep> = []
  let now = 0

  const advanceTo = (end: number) => {
    settle()
    for (let first = sleeps.at(-1); first !== undefined && first.until <= end; first = sleeps.at(-1)) {
      sleeps.pop()
      now = first.until
      Latch.openUnsafe(first.latch)
      settle()
    }
    now = end
  }

  const nanos = () => BigInt(Math.round(now * 1_000_000))
  const clock: TestClock.TestClock = {
    currentTimeMillisUnsafe: () => now,
    currentTimeNanosUnsafe: nanos,
    monotonicTimeNanosUnsafe: nanos,
    currentTimeMillis: Effect.sync(() => now),
    currentTimeNanos: Effect.sync(nanos),
    monotonicTimeNanos: Effect.sync(nanos),
    sleep: (duration) =>
      Effect.suspend(() => {
        const millis = Duration.toMillis(duration)
        if (!(millis > 0)) return Effect.yieldNow
        const sleep: Sleep = { until: now + millis, latch: Latch.makeUnsafe(false) }
        const later = sleeps.findIndex(({ until }) => until <= sleep.until)
        sleeps.splice(later === -1 ? sleeps.length : later, 0, sleep)
        return Effect.onInterrupt(Latch.await(sleep.latch), () =>
          Effect.sync(() => {
            const index = sleeps.indexOf(sleep)
            if (index !== -1) sleeps.splice(index, 1)
          }))
      }),
    adjust: (duration) => Effect.sync(() => advanceTo(now + Duration.toMillis(duration))),
    setTime: (time) => Effect.sync(() => advanceTo(time)),
    withLive: (effect) => effect
  }
  return { clock, advanceTo, now: () => now, nextDue: () => sleeps.at(-1)?.until }
}

/**
 * Creates a runtime at time 0.
 *
 * @example
 * ```ts
 * import { VirtualRuntime } from "@effect-mcp/testing"
 * import * as Effect from "effect/Effect"
 *
 * const runtime = VirtualRuntime.make({ seed: 1 })
 * const fiber = runtime.start(Effect.as(Effect.sleep("1 hour"), "awake"))
 *
 * export const before = fiber.pollUnsafe() // => undefined
 * runtime.advance(3_600_000)
 * export const after = fiber.pollUnsafe()?._tag // => "Success"
 * export const left = runtime.living() // => 0
 * ```
 *
 * @category constructors
 */
export const make = (options: Options): VirtualRuntime => {
  const { interleaving, seed } = options
  const choices = Choices.make(seed, "interleaving")
  const { enter, hasReady, isResumedFromOutside, scheduler, settle } = makeScheduler(
    interleaving === "Random" ? choices.below : () => 0,
    () => new NotSettledError({ seed, at: now(), steps: maxSteps })
  )
  const { advanceTo, clock, nextDue, now } = makeClock(settle)
  const fibers = FiberCount.make()
  const context = Context.make(Clock.Clock, clock).pipe(
    Context.add(Scheduler.Scheduler, scheduler),
    Context.add(Metric.FiberRuntimeMetrics, fibers.metrics),
    Context.add(Random.Random, Choices.random(seed, "random")),
    Context.add(SessionId.RequestIdPrefix, prefixes(seed)),
    Context.add(Logger.CurrentLoggers, new Set()),
    Context.add(RequestStateSeal.RequestStateSeal, ReproducibleSeal.make()),
    Context.add(UsedStates.UsedStates, UsedStates.makeMemory())
  )
  return {
    clock,
    now,
    start: (effect) => enter(() => Effect.runForkWith(context)(effect)),
    act: enter,
    advance: (millis) => enter(() => advanceTo(now() + millis)),
    living: fibers.living,
    nextDue,
    hasReady,
    isResumedFromOutside
  }
}

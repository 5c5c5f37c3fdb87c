/**
 * A world of its own: a clock that moves only when it is moved, and a scheduler that goes on until there is nothing left to do. What
 * runs in it runs at once, in the order that its seed decides, and the same way each time.
 *
 * It is a `TestClock` to the programs that run in it. What sets it apart from `TestClock.layer` is who moves it: not a fiber that
 * waits its turn among the others, but a program outside, for which a virtual hour is a call of a function. Programs in it must not
 * wait for the real world: no promise, no file, no socket.
 *
 * @since 0.1.0
 */
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import type * as Fiber from "effect/Fiber"
import * as Latch from "effect/Latch"
import * as Logger from "effect/Logger"
import * as Metric from "effect/Metric"
import * as Random from "effect/Random"
import * as Scheduler from "effect/Scheduler"
import type * as TestClock from "effect/testing/TestClock"
import * as Census from "./Census.ts"
import * as Choices from "./internal/Choices.ts"

/**
 * How a world is made.
 *
 * @category models
 * @since 0.1.0
 */
export interface Options {
  /** What decides which of the fibers that are ready goes first. */
  readonly seed: number
  /** In which order fibers go on that are ready. Default: in the order in which they became so. */
  readonly interleaving?: "Fair" | "Random" | undefined
}

/**
 * A world, and what can be done to it from outside.
 *
 * @category models
 * @since 0.1.0
 */
export interface World {
  /** Its clock, which is a `TestClock` to the programs in it. */
  readonly clock: TestClock.TestClock
  /** The time in it, in milliseconds since it began. */
  readonly now: () => number
  /** Starts a program in it, which goes on at once as far as it can. */
  readonly start: <A, E>(effect: Effect.Effect<A, E>) => Fiber.Fiber<A, E>
  /** Does something, and then all that follows from it now. */
  readonly act: (action: () => void) => void
  /** Lets so many milliseconds pass, and everything happen in them that is due. */
  readonly advance: (millis: number) => void
  /** How many fibers are alive in it. */
  readonly living: () => number
  /** Returns the time at which the next sleeping fiber is due, or `undefined` if no fiber sleeps. */
  readonly nextDue: () => number | undefined
  /**
   * Returns whether something outside has resumed a fiber: a timer of the platform, a promise or a socket. The programs
   * are not reproducible then.
   */
  readonly isResumedFromOutside: () => boolean
}

/**
 * A world did not come to rest: something in it goes on and on without any time passing.
 *
 * @example
 * ```ts
 * import { World } from "@effect-mcp/testing"
 * import * as Effect from "effect/Effect"
 *
 * const attempt = (): unknown => {
 *   try {
 *     return World.make({ seed: 1 }).start(Effect.forever(Effect.yieldNow))
 *   } catch (thrown) {
 *     return thrown instanceof World.Restless
 *   }
 * }
 * export const isRestless = attempt() // => true
 * ```
 *
 * @category errors
 * @since 0.1.0
 */
export class Restless extends Error {
  override readonly name = "Restless"
}

/** After so many steps without time passing a world counts as restless. */
const patience = 200_000

interface Task {
  readonly run: () => void
  readonly priority: number
}

interface Sleep {
  readonly until: number
  readonly latch: Latch.Latch
}

/** The tasks that are ready, those of the lowest number first. */
const makeScheduler = (choose: (count: number) => number) => {
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
  /** Does something, and then all that follows from it now. */
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
      if (steps > patience) throw new Restless(`no rest after ${patience} steps at one point of time`)
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
      // A fiber asks at each of its steps, and takes none by itself unless the program outside acts.
      if (depth === 0) fromOutside = true
      return fiber.currentOpCount >= fiber.cache.maxOpsBeforeYield
    },
    makeDispatcher: () => dispatcher
  }
  return { scheduler, enter, settle, isResumedFromOutside: () => fromOutside }
}

const makeClock = (settle: () => void) => {
  // The one that is due first stands last, and of those that are due at the same time the one that came first.
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
        const behind = sleeps.findIndex(({ until }) => until <= sleep.until)
        sleeps.splice(behind === -1 ? sleeps.length : behind, 0, sleep)
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
 * Makes a world at time 0, with nothing in it.
 *
 * @example
 * ```ts
 * import { World } from "@effect-mcp/testing"
 * import * as Effect from "effect/Effect"
 *
 * const world = World.make({ seed: 1 })
 * const fiber = world.start(Effect.as(Effect.sleep("1 hour"), "awake"))
 *
 * export const before = fiber.pollUnsafe() // => undefined
 * world.advance(3_600_000)
 * export const after = fiber.pollUnsafe()?._tag // => "Success"
 * export const left = world.living() // => 0
 * ```
 *
 * @category constructors
 * @since 0.1.0
 */
export const make = (options: Options): World => {
  const choices = Choices.make(options.seed, "interleaving")
  const { enter, isResumedFromOutside, scheduler, settle } = makeScheduler(
    options.interleaving === "Random" ? choices.below : () => 0
  )
  const { advanceTo, clock, nextDue, now } = makeClock(settle)
  const census = Census.make()
  const context = Context.make(Clock.Clock, clock).pipe(
    Context.add(Scheduler.Scheduler, scheduler),
    Context.add(Metric.FiberRuntimeMetrics, census.metrics),
    Context.add(Random.Random, Choices.random(options.seed, "random")),
    Context.add(Logger.CurrentLoggers, new Set())
  )
  return {
    clock,
    now,
    start: (effect) => enter(() => Effect.runForkWith(context)(effect)),
    act: enter,
    advance: (millis) => enter(() => advanceTo(now() + millis)),
    living: census.living,
    nextDue,
    isResumedFromOutside
  }
}

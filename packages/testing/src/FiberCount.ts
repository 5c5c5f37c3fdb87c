/**
 * A count of fibers, to show that a program leaves none.
 *
 * @stability unstable
 */
import * as Effect from "effect/Effect"
import * as Metric from "effect/Metric"

/**
 * A count of the fibers that a program has started, and of those that are alive.
 *
 * @category models
 */
export interface FiberCount {
  /** Returns the number of fibers that were started so far. */
  readonly started: () => number
  /** Returns the number of them that are alive. */
  readonly living: () => number
  /** The service by which Effect's runtime reports its fibers. */
  readonly metrics: Metric.FiberRuntimeMetricsService
  /**
   * Counts the fibers that a program starts. The fiber that runs the program has already started and is not counted.
   */
  readonly count: <A, E, R>(program: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>
}

/**
 * Creates a count that starts at 0.
 *
 * @example
 * ```ts
 * import { FiberCount } from "@effect-mcp/testing"
 * import * as Effect from "effect/Effect"
 *
 * export const nothingLeft = Effect.gen(function*() {
 *   const fibers = FiberCount.make()
 *   yield* fibers.count(Effect.scoped(Effect.forkScoped(Effect.never)))
 *   return fibers.living() // => 0
 * })
 * ```
 *
 * @category constructors
 */
export const make = (): FiberCount => {
  let started = 0
  let living = 0
  const metrics: Metric.FiberRuntimeMetricsService = {
    recordFiberStart: () => {
      started++
      living++
    },
    recordFiberEnd: () => {
      living--
    }
  }
  return {
    started: () => started,
    living: () => living,
    metrics,
    count: (program) => Effect.provideService(program, Metric.FiberRuntimeMetrics, metrics)
  }
}

/**
 * Counting fibers, to show that none is left.
 */
import * as Effect from "effect/Effect"
import * as Metric from "effect/Metric"

/**
 * A count of the fibers that a program has started and that are still alive.
 *
 * @category models
 */
export interface FiberCount {
  /** How many were started so far. */
  readonly started: () => number
  /** How many of them are alive now. */
  readonly living: () => number
  /** What counts them, as the service that Effect's runtime tells of its fibers. */
  readonly metrics: Metric.FiberRuntimeMetricsService
  /** Runs a program under this census. Every fiber it starts is counted; its own, already started, is not. */
  readonly count: <A, E, R>(program: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>
}

/**
 * Opens a census.
 *
 * @example
 * ```ts
 * import { FiberCount } from "@effect-mcp/testing"
 * import * as Effect from "effect/Effect"
 *
 * export const nothingLeft = Effect.gen(function*() {
 *   const census = FiberCount.make()
 *   yield* census.count(Effect.scoped(Effect.forkScoped(Effect.never)))
 *   return census.living() // => 0
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

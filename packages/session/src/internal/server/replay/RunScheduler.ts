/** The scheduler of one run of a handler. */

import type * as Fiber from "effect/Fiber"
import type * as Scheduler from "effect/Scheduler"

/**
 * A scheduler that counts which fibers of one run can go on by themselves. Fibers that they start inherit it, detached
 * ones included. To count fibers instead would not do: a parent that waits for its child looks like one that works, and
 * the workers of `Effect.all` are children of no fiber.
 */
export class RunScheduler implements Scheduler.Scheduler {
  readonly executionMode: Scheduler.Scheduler["executionMode"]
  readonly #parent: Scheduler.Scheduler
  readonly #onIdle: () => void
  #runnable = 0

  /** `onIdle` is called after a fiber has run, when no other one is ready. */
  constructor(parent: Scheduler.Scheduler, onIdle: () => void) {
    this.executionMode = parent.executionMode
    this.#parent = parent
    this.#onIdle = onIdle
  }

  get isIdle(): boolean {
    return this.#runnable === 0
  }

  shouldYield(fiber: Fiber.Fiber<unknown, unknown>): boolean {
    return this.#parent.shouldYield(fiber)
  }

  makeDispatcher(): Scheduler.SchedulerDispatcher {
    const dispatcher = this.#parent.makeDispatcher()
    return {
      scheduleTask: (task, priority) => {
        this.#runnable++
        dispatcher.scheduleTask(() => {
          this.#runnable--
          task()
          if (this.#runnable === 0) this.#onIdle()
        }, priority)
      },
      flush: () => dispatcher.flush()
    }
  }
}

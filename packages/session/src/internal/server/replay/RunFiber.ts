/** The fibers of one run of a handler, which are cut from outside when none of them can go on by itself. */

import type { McpError } from "@effect-mcp/protocol"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Scheduler from "effect/Scheduler"
import { trust } from "../../trust.ts"
import { RunScheduler } from "./RunScheduler.ts"

/** The time that the finalizers of a run that is cut have, in milliseconds. Then its outcome is sent anyway. */
const finalizersMillis = 1_000

/** The outcome of a run, which replaces the exit of its handler. */
export type Outcome = Effect.Effect<unknown, McpError.McpError>

/** The run of these fibers. */
export interface RunFiberDependencies {
  /** Returns whether the run waits for something that only its next run can have. */
  readonly isWaiting: () => boolean
  /** Called when the run waits, and nothing of it can go on by itself. */
  readonly onStuck: () => void
  /** Called before the run ends. Its finalizers may still run. */
  readonly onClose: () => void
  /** Returns the outcome of a handler that has ended. */
  readonly outcomeOf: (exit: Exit.Exit<unknown, McpError.McpError>) => Outcome
}

/**
 * The fibers of one run. A failure or an interruption that is raised where the handler waits would not do: `catchCause`
 * and `race` swallow both. The run is therefore interrupted from outside, and whatever the handler makes of that is
 * dropped.
 */
export class RunFiber {
  readonly #dependencies: RunFiberDependencies
  #scheduler: RunScheduler | undefined
  #dispatcher: Scheduler.SchedulerDispatcher | undefined
  #root: Fiber.Fiber<unknown, McpError.McpError> | undefined
  #resume: ((outcome: Outcome) => void) | undefined
  /** The fibers that wait for answers. */
  readonly #waiting = new Set<Fiber.Fiber<unknown, unknown>>()
  #isClosed = false
  #isDetached = false
  #isChecking = false

  constructor(dependencies: RunFiberDependencies) {
    this.#dependencies = dependencies
  }

  /** Whether the run has its outcome. */
  get isClosed(): boolean {
    return this.#isClosed
  }

  /** Runs a handler, until it ends or is cut. */
  run<R>(handling: Effect.Effect<unknown, McpError.McpError, R>): Effect.Effect<unknown, McpError.McpError, R> {
    return Effect.withFiber((outer) => {
      const parent = Context.get(outer.context, Scheduler.Scheduler)
      const scheduler = this.#scheduler = new RunScheduler(parent, () => this.check())
      this.#dispatcher = outer.currentDispatcher
      return Effect.callback<unknown, McpError.McpError>((resume) => {
        this.#resume = resume
        // The outer fiber runs in the context of the handler.
        const context = trust<Context.Context<R>>(outer.context)
        const root = this.#root = Effect.runForkWith(context)(handling, { scheduler })
        root.addObserver((exit) => this.#finish(exit))
        return Effect.suspend(() => {
          this.#close()
          return Fiber.interrupt(root)
        })
      })
    })
  }

  /** Adds a fiber that waits for an answer. */
  wait(fiber: Fiber.Fiber<unknown, unknown>): void {
    this.#waiting.add(fiber)
  }

  /** Removes a fiber that waits no longer. */
  leave(fiber: Fiber.Fiber<unknown, unknown>): void {
    this.#waiting.delete(fiber)
  }

  /** Looks in the next turn of the scheduler whether the run can go on. All microtasks are done then. */
  check(): void {
    if (this.#isChecking || !this.#mayBeCut) return
    this.#isChecking = true
    this.#dispatcher?.scheduleTask(() => {
      this.#isChecking = false
      if (this.#mayBeCut && this.#scheduler?.isIdle === true) this.#dependencies.onStuck()
    }, 0)
  }

  /** Ends the run with this outcome, whatever its handler makes of its interruption. */
  cut(outcome: Outcome): void {
    if (this.#isClosed) return
    this.#close()
    const root = this.#root
    root?.interruptUnsafe()
    const isEnded = root === undefined || root.pollUnsafe() !== undefined
    this.#resume?.(
      isEnded
        ? outcome
        : Effect.andThen(Effect.timeoutOption(Fiber.await(root), finalizersMillis), outcome)
    )
  }

  /** Ends the run with this outcome, while its fibers go on. `before` runs after the end, and before the outcome. */
  detach(outcome: Outcome, before: () => void): void {
    this.#isClosed = true
    this.#isDetached = true
    before()
    this.#resume?.(outcome)
  }

  /** Calls a function when the handler has ended. Its finalizers may run for longer than the outcome waits for them. */
  whenEnded(then: () => void): void {
    if (this.#root === undefined || this.#isDetached) then()
    else this.#root.addObserver(() => then())
  }

  get #mayBeCut(): boolean {
    return !this.#isClosed && this.#dependencies.isWaiting()
  }

  /** Ends the run with the exit of its handler, unless it was cut before. */
  #finish(exit: Exit.Exit<unknown, McpError.McpError>): void {
    if (this.#isClosed) return
    this.#close()
    this.#resume?.(this.#dependencies.outcomeOf(exit))
  }

  /** Ends the waiting fibers of the run. Detached ones may wait for answers that no client will give. */
  #close(): void {
    this.#isClosed = true
    this.#dependencies.onClose()
    for (const fiber of this.#waiting) fiber.interruptUnsafe()
  }
}

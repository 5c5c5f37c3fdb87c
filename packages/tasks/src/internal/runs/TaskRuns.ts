/** The tasks that this process runs: their fibers, their outcomes, and what they hold. */

import { type JsonRpc, McpError } from "@effect-mcp/protocol"
import { webCrypto } from "@effect-mcp/session/internal"
import { MemoryBudget } from "@effect-mcp/session/MemoryBudget"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type * as Fiber from "effect/Fiber"
import * as Schedule from "effect/Schedule"
import * as Scope from "effect/Scope"
import * as StoredTask from "../../StoredTask.ts"
import type { TaskStoreError } from "../../TaskStore.ts"
import { LeaseKeeper, type TakenOver } from "./LeaseKeeper.ts"
import { type OwnedTasks, withoutRun } from "./OwnedTasks.ts"
import * as RunningMemory from "./RunningMemory.ts"

/** Options of the tasks of an endpoint. */
export interface TaskRunsOptions {
  readonly pollMillis: number
  /** The lifetime of a task whose client wishes none, and the longest one. */
  readonly ttlMillis: { readonly default: number; readonly longest: number }
  /** The time after which another process counts this one as ended, unless it has renewed its lease. */
  readonly leaseMillis: number
  /** Runs tasks again whose processes have ended. Default: they end as failed. */
  readonly resume?: Resumer
}

/** A task that runs again. `ended` is called when nothing of the run is left. */
export interface ResumedRun {
  readonly run: Effect.Effect<unknown, McpError.McpError>
  readonly ended: () => void
}

/** Prepares another run of a task; `undefined` if its tool is not served here. */
export type Resumer = (task: StoredTask.StoredTask) => ResumedRun | undefined

/** A request that becomes a task. */
export interface Start {
  readonly principal: string | undefined
  readonly request: StoredTask.TaskRequest
  /** The lifetime that the client wishes, in milliseconds. */
  readonly ttlMillis: number | undefined
  /** The facts for another run; `undefined` if there is none. */
  readonly resumption?: Pick<StoredTask.TaskResumption, "claims" | "profile" | "scopes"> | undefined
  /** The questions that were answered before the request became a task. */
  readonly questions?: ReadonlyArray<StoredTask.TaskQuestion>
  readonly steps?: ReadonlyArray<StoredTask.TaskStep>
}

const internalError = (message: string): JsonRpc.ErrorObject => ({ code: McpError.internalError.code, message })

/** The error of a task whose process ends. */
const stopped = internalError("The server has stopped")

const tooLarge = internalError("The result is too large to be stored")

const unstorable = internalError("The result could not be stored")

/** The number of times that the outcome of a task is tried to be stored, a second apart. */
const outcomeAttempts = 30

/** Returns the error object of a run that has failed. A defect is hidden from the client. */
const errorOf = (cause: Cause.Cause<McpError.McpError>): JsonRpc.ErrorObject => {
  if (Cause.hasInterruptsOnly(cause)) return stopped
  const { code, data, message } = cause.reasons.find(Cause.isFailReason)?.error ?? McpError.internalError
  return data === undefined ? { code, message } : { code, message, data }
}

/** Returns a lifetime as it is stored: JSON has no infinite numbers. */
const lifetime = (millis: number): number | undefined => Number.isFinite(millis) ? millis : undefined

/** Returns whether a client receives less of a failure than its cause says. */
const isDefect = (cause: Cause.Cause<McpError.McpError>): boolean =>
  !Cause.hasInterruptsOnly(cause) && !cause.reasons.some(Cause.isFailReason)

/** The tasks that this process runs. */
export class TaskRuns {
  readonly #tasks: OwnedTasks
  readonly #options: TaskRunsOptions
  readonly #scope: Scope.Scope
  readonly #memory: RunningMemory.RunningMemory
  readonly #leases: LeaseKeeper
  readonly #running = new Map<string, Fiber.Fiber<unknown>>()
  /** The tasks that run here, although another process has their leases. */
  readonly #lostTo = new Set<string>()
  /** Whether the scope has begun to close. */
  #isStopping = false

  private constructor(tasks: OwnedTasks, options: TaskRunsOptions, scope: Scope.Scope, budget: MemoryBudget) {
    this.#tasks = tasks
    this.#options = options
    this.#scope = scope
    this.#memory = RunningMemory.of(budget)
    this.#leases = new LeaseKeeper({
      tasks,
      leaseMillis: options.leaseMillis,
      running: this.#running,
      moveToEnd: (id) => this.#moveToEnd(id),
      takeOver: (task) => this.#takeOver(task)
    })
  }

  /**
   * Creates the runs of an endpoint. They are interrupted when the scope closes. Their tasks end as failed, unless they
   * can be run again.
   */
  static make(tasks: OwnedTasks, options: TaskRunsOptions): Effect.Effect<TaskRuns, never, Scope.Scope> {
    return Effect.gen(function*() {
      const scope = Scope.makeUnsafe()
      const runs = new TaskRuns(tasks, options, scope, yield* MemoryBudget)
      yield* Effect.forkScoped(runs.#leases.renewing)
      yield* Effect.forkScoped(runs.#leases.sweeping)
      // The last finalizer is the first to run: leases are renewed until all handlers have ended.
      yield* Effect.addFinalizer((exit) =>
        Effect.suspend(() => {
          runs.#isStopping = true
          return Scope.close(scope, exit)
        })
      )
      return runs
    })
  }

  /** Returns the task of a request, which this process runs. */
  taskOf(
    { principal, questions = [], request, resumption, steps = [], ttlMillis }: Start,
    now: number
  ): StoredTask.StoredTask {
    const { pollMillis, ttlMillis: { default: usual, longest } } = this.#options
    return {
      id: webCrypto.randomUUID(),
      principal,
      request,
      createdAt: now,
      updatedAt: now,
      ttlMillis: lifetime(Math.min(Math.max(ttlMillis ?? usual, 0), longest)),
      pollMillis,
      cancelRequested: false,
      questions,
      steps,
      lease: this.#leases.leaseFrom(now),
      resumption: resumption && { ...resumption, runs: 1 },
      version: 1
    }
  }

  /** The number of tasks that run in this process. */
  get size(): number {
    return this.#running.size
  }

  /**
   * Stores a task, and runs it in the background (TSK-07, TSK-08, TSK-14). `run` is called before the client learns the
   * id, and `ended` when nothing of the run is left.
   */
  start<R>(
    start: Start,
    run: (task: StoredTask.StoredTask) => Effect.Effect<unknown, McpError.McpError, R>,
    ended?: (task: StoredTask.StoredTask) => void
  ): Effect.Effect<StoredTask.TaskState, McpError.McpError, R> {
    return Effect.uninterruptible(Effect.gen({ self: this }, function*() {
      const now = yield* Effect.clockWith((clock) => Effect.succeed(clock.currentTimeMillisUnsafe()))
      const task = this.taskOf(start, now)
      const release = this.#memory.hold(task)
      if (release === undefined) return yield* this.#memory.rejection
      yield* Effect.onError(this.#tasks.create(task), () => Effect.sync(release))
      // The store has it before the client learns its id (TKX-07).
      yield* this.#launch(task, run(task), () => {
        release()
        ended?.(task)
      })
      return StoredTask.stateOf(task)
    }))
  }

  /** The name of this process in the leases of its tasks. */
  get owner(): string {
    return this.#leases.owner
  }

  /** Returns whether this process has the lease of a task. */
  isOurs(task: Pick<StoredTask.StoredTask, "call" | "lease" | "outcome">): boolean {
    return this.#leases.isOurs(task)
  }

  /** Returns whether another run of a task goes on after this one, which is being stopped. */
  isHandedOn({ id, resumption }: StoredTask.StoredTask): boolean {
    return (this.#isStopping && resumption !== undefined) || this.#lostTo.has(id)
  }

  /** Runs a task whose lease this process has. The caller may be interrupted: the task is not. */
  #launch<R>(
    task: StoredTask.StoredTask,
    run: Effect.Effect<unknown, McpError.McpError, R>,
    ended: () => void
  ): Effect.Effect<void, never, R> {
    return Effect.gen({ self: this }, function*() {
      const running = Effect.onExit(Effect.interruptible(run), (exit) => this.#end(task, exit))
      // Uninterruptible outside of the run: interrupted before its first step, a fiber would store no outcome.
      const fiber = yield* Effect.forkIn(Effect.ignoreCause(running), this.#scope, { uninterruptible: true })
      const watcher = yield* Effect.forkIn(
        Effect.andThen(this.#lost(task), Effect.sync(() => fiber.interruptUnsafe())),
        this.#scope
      )
      this.#running.set(task.id, fiber)
      fiber.addObserver(() => {
        this.#running.delete(task.id)
        this.#lostTo.delete(task.id)
        watcher.interruptUnsafe()
        ended()
      })
    })
  }

  /**
   * Ends a task as cancelled, unless it has ended (TSK-09, TSK-24). Returns the task as it is then, and whether it was
   * this call that has ended it. The process that runs it interrupts its fiber.
   */
  cancel(
    id: string,
    principal: string | undefined
  ): Effect.Effect<{ readonly task: StoredTask.TaskState; readonly isNew: boolean }, McpError.McpError> {
    const cancelled = this.#tasks.change(
      id,
      ({ outcome }) =>
        outcome === undefined ? { ...withoutRun, outcome: { _tag: "Cancelled" }, cancelRequested: true } : undefined
    )
    // The owner first: nothing of a foreign task changes.
    return Effect.flatMap(
      this.#tasks.load(id, principal),
      (state) =>
        state.ending !== undefined ? Effect.succeed({ task: state, isNew: false }) : Effect.flatMap(
          Effect.mapError(cancelled, () => McpError.internalError),
          (changed) =>
            "task" in changed
              ? Effect.succeed({ task: StoredTask.stateOf(changed.task), isNew: changed._tag === "Changed" })
              // It was deleted meanwhile.
              : Effect.map(this.#tasks.load(id, principal), (task) => ({ task, isNew: false }))
        )
    )
  }

  /** Runs an effect in the background until it ends, or until the scope closes. */
  fork(effect: Effect.Effect<void>): Effect.Effect<void> {
    return Effect.asVoid(Effect.forkIn(effect, this.#scope))
  }

  /** Waits until the store has an outcome of a task, or another process its lease, or the store the task no longer. */
  #lost({ id, version }: StoredTask.StoredTask): Effect.Effect<void> {
    const watch = (known: Pick<StoredTask.TaskState, "id" | "version">): Effect.Effect<void, TaskStoreError> =>
      Effect.flatMap(
        this.#tasks.later(known),
        (found) => {
          if (found !== undefined && this.isOurs(found)) return watch(found)
          if (found !== undefined && found.ending === undefined) this.#lostTo.add(id)
          return Effect.void
        }
      )
    // A store that fails now may work later. Until then, nothing cancels the task from elsewhere.
    return Effect.retry(watch({ id, version }), { schedule: Schedule.spaced("1 second") }).pipe(Effect.orDie)
  }

  /** Stores the outcome of a run. One that has an outcome already keeps it, and one that runs elsewhere runs on. */
  #end({ id, resumption }: StoredTask.StoredTask, exit: Exit.Exit<unknown, McpError.McpError>): Effect.Effect<void> {
    const isStopped = this.#isStopping && Exit.isFailure(exit) && Cause.hasInterruptsOnly(exit.cause)
    if (isStopped && resumption !== undefined) return this.#release(id)
    const outcome: StoredTask.Outcome = Exit.isSuccess(exit)
      ? { _tag: "Result", result: exit.value }
      : { _tag: "Error", error: errorOf(exit.cause) }
    const store = (ended: StoredTask.Outcome) =>
      this.#tasks.change(id, (task) => this.isOurs(task) ? { ...withoutRun, outcome: ended } : undefined)
    const reported = Exit.isFailure(exit) && isDefect(exit.cause)
      ? Effect.logError("the handler of a task failed", exit.cause)
      : Effect.void
    // A failure of the store must not make a resumable task run again. Its lease is renewed meanwhile.
    const stored = (outcome: StoredTask.Outcome) =>
      Effect.retry(store(outcome), {
        while: () => !this.#isStopping,
        times: outcomeAttempts,
        schedule: Schedule.spaced("1 second")
      })
    const failed = (cause: Cause.Cause<unknown>) =>
      Effect.andThen(
        Effect.logError("the outcome of a task could not be stored", cause),
        // A result that the store cannot represent is no reason to run the task again.
        Effect.ignoreCause(store({ _tag: "Error", error: unstorable }))
      )
    return Effect.andThen(reported, stored(outcome)).pipe(
      Effect.flatMap((changed) =>
        changed._tag === "TooLarge" ? stored({ _tag: "Error", error: tooLarge }) : Effect.succeed(changed)
      ),
      Effect.catchCause(failed),
      Effect.asVoid
    )
  }

  /** Hands a task that this process has stopped to any process, also to this one after its restart. */
  #release(id: string): Effect.Effect<void> {
    const released = Effect.clockWith((clock) =>
      this.#tasks.change(id, (task) => {
        const expiresAt = clock.currentTimeMillisUnsafe()
        const { resumption, updatedAt } = task
        if (!this.isOurs(task) || resumption === undefined) return undefined
        // A stop is no failure of the run, so that it does not count.
        const given = { ...resumption, runs: resumption.runs - 1 }
        // Of no process, so that a renewal at the same time does not keep it.
        return { lease: { owner: "", expiresAt }, resumption: given, updatedAt }
      })
    )
    // If this fails, the lease lapses later.
    return Effect.ignoreCause(released)
  }

  /** Makes a task the last one of those that run here. */
  #moveToEnd(id: string): void {
    const fiber = this.#running.get(id)
    if (fiber === undefined) return
    this.#running.delete(id)
    this.#running.set(id, fiber)
  }

  /** Prepares another run of a task that has lapsed, if there is room for it. */
  #takeOver(task: StoredTask.StoredTask): TakenOver | undefined {
    const release = this.#isStopping ? undefined : this.#memory.hold(task)
    if (release === undefined) return undefined
    let resumed: ResumedRun | undefined
    try {
      resumed = this.#options.resume?.(task)
    } finally {
      if (resumed === undefined) release()
    }
    if (resumed === undefined) return undefined
    const { ended, run } = resumed
    return {
      release,
      launch: (task) =>
        this.#launch(task, run, () => {
          release()
          ended()
        })
    }
  }
}

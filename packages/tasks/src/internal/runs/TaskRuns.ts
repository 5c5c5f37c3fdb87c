/** The tasks that this process runs: their fibers, their leases, and the tasks of others that have lapsed. */

import { type JsonRpc, McpError } from "@effect-mcp/protocol"
import { webCrypto } from "@effect-mcp/session/internal"
import { MemoryBudget } from "@effect-mcp/session/MemoryBudget"
import * as Cause from "effect/Cause"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type * as Fiber from "effect/Fiber"
import * as Schedule from "effect/Schedule"
import * as Scope from "effect/Scope"
import * as StoredTask from "../../StoredTask.ts"
import { TaskStoreError } from "../../TaskStore.ts"
import { isExpired, type OwnedTasks } from "./OwnedTasks.ts"
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
  readonly resumption?: Pick<StoredTask.TaskResumption, "claims" | "profile"> | undefined
  /** The questions that were answered before the request became a task. */
  readonly questions?: ReadonlyArray<StoredTask.TaskQuestion>
  readonly steps?: ReadonlyArray<StoredTask.TaskStep>
}

/** The number of due tasks that are handled in one go. */
const sweepSize = 100

/** The number of due tasks that are handled at the same time. */
const sweepConcurrency = 64

const internalError = (message: string): JsonRpc.ErrorObject => ({ code: McpError.internalError.code, message })

/** The error of a task whose process has ended, as another process finds it. */
const lapsed = internalError("The process that ran the task has ended")

/** The number of times that a task is started. A task that ends its process each time would do so for ever. */
const maxStarts = 5

/** The error of a resumable task whose last process has ended. */
const lapsedAgain = internalError(`The process that ran the task has ended, for the ${maxStarts}th time`)

/** The error of a resumable task that no process has run again. */
const abandoned = internalError("The process that ran the task has ended, and no other one has run the task again")

/** The time for which a resumable task waits for a process that runs it again, in milliseconds. */
const waitingMillis = 300_000

/** The number of times that a round is repeated at once. */
const maxRounds = 100

/** The most tasks that are looked at in one go, if many wait for a process that runs them again. */
const maxSweepSize = 10_000

/** The error of a task whose process ends. */
const stopped = internalError("The server has stopped")

const tooLarge = internalError("The result is too large to be stored")

const unstorable = internalError("The result could not be stored")

/** The number of times that the outcome of a task is tried to be stored, a second apart. */
const outcomeAttempts = 30

/** The members of a task that has ended. Only a run needs the others, and the claims of its principal go as well. */
const withoutRun = { lease: undefined, resumption: undefined, questions: [], steps: [] } as const

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
  /** The name of this process in the leases of its tasks. */
  readonly owner = webCrypto.randomUUID()
  readonly #running = new Map<string, Fiber.Fiber<unknown>>()
  /** Whether the scope has begun to close. */
  #isStopping = false

  private constructor(tasks: OwnedTasks, options: TaskRunsOptions, scope: Scope.Scope, budget: MemoryBudget) {
    this.#tasks = tasks
    this.#options = options
    this.#scope = scope
    this.#memory = RunningMemory.of(budget)
  }

  /**
   * Creates the runs of an endpoint. They are interrupted when the scope closes. Their tasks end as failed, unless they
   * can be run again.
   */
  static make(tasks: OwnedTasks, options: TaskRunsOptions): Effect.Effect<TaskRuns, never, Scope.Scope> {
    return Effect.gen(function*() {
      const scope = Scope.makeUnsafe()
      const runs = new TaskRuns(tasks, options, scope, yield* MemoryBudget)
      yield* Effect.forkScoped(runs.#renew)
      yield* Effect.forkScoped(runs.#sweep)
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

  /** The number of tasks that run in this process. */
  get size(): number {
    return this.#running.size
  }

  /**
   * Stores a task, and runs it in the background (TSK-07, TSK-08, TSK-14). `run` is called before the client learns the
   * id, and `ended` when nothing of the run is left.
   */
  start<R>(
    { principal, questions = [], request, resumption, steps = [], ttlMillis }: Start,
    run: (task: StoredTask.StoredTask) => Effect.Effect<unknown, McpError.McpError, R>,
    ended?: (task: StoredTask.StoredTask) => void
  ): Effect.Effect<StoredTask.TaskState, McpError.McpError, R> {
    return Effect.uninterruptible(Effect.gen({ self: this }, function*() {
      const { pollMillis, ttlMillis: { default: usual, longest } } = this.#options
      const now = yield* Effect.clockWith((clock) => Effect.succeed(clock.currentTimeMillisUnsafe()))
      const task: StoredTask.StoredTask = {
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
        lease: this.#leaseFrom(now),
        resumption: resumption && { ...resumption, runs: 1 },
        version: 1
      }
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

  /** Returns whether this process has the lease of a task. */
  isOurs({ lease, outcome }: Pick<StoredTask.StoredTask, "lease" | "outcome">): boolean {
    return outcome === undefined && lease?.owner === this.owner
  }

  /** Returns whether another run of a task goes on after this one, which is being stopped. */
  isHandedOn({ resumption }: StoredTask.StoredTask): boolean {
    return this.#isStopping && resumption !== undefined
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

  #leaseFrom(now: number): StoredTask.TaskLease {
    return { owner: this.owner, expiresAt: now + this.#options.leaseMillis }
  }

  /** Waits until the store has an outcome of a task, or another process its lease, or the store the task no longer. */
  #lost({ id, version }: StoredTask.StoredTask): Effect.Effect<void> {
    const watch = (known: Pick<StoredTask.TaskState, "id" | "version">): Effect.Effect<void, TaskStoreError> =>
      Effect.flatMap(
        this.#tasks.later(known),
        (found) => found !== undefined && this.isOurs(found) ? watch(found) : Effect.void
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

  /** Renews the leases of the tasks that run here. */
  get #renew(): Effect.Effect<never> {
    return this.#regularly(
      "renewing leases",
      // All at once: the renewals of many tasks that hang would keep the other ones waiting until their leases lapse.
      "unbounded",
      () => Effect.succeed([...this.#running.keys()]),
      () => false,
      (id) =>
        Effect.clockWith((clock) => this.#tasks.renew(id, this.#leaseFrom(clock.currentTimeMillisUnsafe()))).pipe(
          Effect.tap(() => Effect.sync(() => this.#moveToEnd(id)))
        )
    )
  }

  /**
   * Makes a task the last one, so that the next round begins with those that were not renewed. Otherwise a store
   * that renews some of them only in the time of a round would renew the same ones each time, and never the last ones.
   */
  #moveToEnd(id: string): void {
    const fiber = this.#running.get(id)
    if (fiber === undefined) return
    this.#running.delete(id)
    this.#running.set(id, fiber)
  }

  /** Deletes tasks that have expired, and runs again, or ends, those whose processes have ended. */
  get #sweep(): Effect.Effect<never> {
    // Tasks that wait for a process with their tool stay due for long. They must not hide the next ones.
    let waiting = 0
    let isFull = false
    const due = (now: number) => {
      const size = Math.min(sweepSize + waiting, maxSweepSize)
      waiting = 0
      return Effect.tap(this.#tasks.due(now, size), ({ length }) =>
        Effect.sync(() => {
          isFull = length === size
        }))
    }
    // The rest of a full page at once, unless nothing of it has changed: thousands of tasks may expire together.
    const goesOn = () => isFull && waiting < sweepSize
    return this.#regularly("sweeping tasks", sweepConcurrency, due, goesOn, (id, now) => {
      let resumed: ResumedRun | undefined
      let release: (() => void) | undefined
      const swept = this.#tasks.change(id, (task) => {
        resumed = undefined
        release?.()
        const { lease, outcome } = task
        // A process that was suspended for longer than a lease renews those of its own tasks.
        const isLapsed = lease !== undefined && lease.expiresAt <= now && !this.#running.has(id)
        if (outcome !== undefined || !isLapsed || isExpired(task, now)) return undefined
        const end = (error: JsonRpc.ErrorObject): Partial<StoredTask.StoredTask> => ({
          ...withoutRun,
          outcome: { _tag: "Error", error }
        })
        const { resumption, updatedAt } = task
        if (resumption === undefined) return end(lapsed)
        if (resumption.runs >= maxStarts) return end(lapsedAgain)
        // Without room for it here, the task waits for another process, or for the end of other tasks.
        release = this.#isStopping ? undefined : this.#memory.hold(task)
        resumed = release === undefined ? undefined : this.#options.resume?.(task)
        if (resumed !== undefined) {
          return { lease: this.#leaseFrom(now), resumption: { ...resumption, runs: resumption.runs + 1 }, updatedAt }
        }
        if (now - lease.expiresAt > waitingMillis) return end(abandoned)
        waiting++
        return undefined
      })
      const takenOver = Effect.uninterruptibleMask((restore) =>
        Effect.onExit(restore(swept), (exit) =>
          Effect.sync(() => {
            if (resumed === undefined || Exit.isFailure(exit) || exit.value._tag !== "Changed") release?.()
          })).pipe(
            Effect.flatMap((found) => {
              if (found._tag === "Changed" && resumed !== undefined) {
                const { ended, run } = resumed
                return this.#launch(found.task, run, () => {
                  release?.()
                  ended()
                })
              }
              return Effect.void
            })
          )
      )
      return Effect.flatMap(this.#tasks.find(id), (state) => {
        if (state === undefined) return Effect.void
        if (isExpired(state, now)) return this.#tasks.remove(id)
        return state.ending === undefined ? takenOver : Effect.void
      })
    })
  }

  /**
   * Does work on some tasks, three times in the time of a lease, and each time again while there is more. The work on
   * one task has a deadline of half the time between two rounds, and fails alone. One failure of each round is logged.
   */
  #regularly(
    work: string,
    concurrency: number | "unbounded",
    some: (now: number) => Effect.Effect<ReadonlyArray<string>, TaskStoreError>,
    goesOn: () => boolean,
    act: (id: string, now: number) => Effect.Effect<unknown, TaskStoreError>
  ): Effect.Effect<never> {
    const intervalMillis = this.#options.leaseMillis / 3
    const acted = (id: string, now: number) =>
      Effect.catchDefect(
        Effect.suspend(() => act(id, now)),
        (defect) => Effect.fail(new TaskStoreError({ cause: defect }))
      )
    const actInTime = (id: string, now: number) =>
      Effect.timeoutOrElse(acted(id, now), {
        duration: intervalMillis / 2,
        orElse: () => Effect.fail(new TaskStoreError({ cause: new Error(`no end after ${intervalMillis / 2} ms`) }))
      })
    const round = Effect.clockWith((clock) => {
      const now = clock.currentTimeMillisUnsafe()
      return Effect.flatMap(some(now), (ids) => Effect.partition(ids, (id) => actInTime(id, now), { concurrency }))
    })
    const logged = Effect.matchCauseEffect(round, {
      onFailure: (cause) => Effect.as(Effect.logError(`${work} failed`, cause), false),
      onSuccess: ([, failures]) =>
        failures.length === 0
          ? Effect.succeed(true)
          : Effect.as(Effect.logError(`${work} failed for ${failures.length} tasks`, failures[0]), false)
    })
    // What has failed would fail again at once.
    const rounds = Effect.repeat(logged, { while: (isDone) => isDone && goesOn(), times: maxRounds })
    // The time of the work belongs to the interval: three intervals make a lease. A sleep beside the work would be a
    // fiber more, which would not end before the server.
    const interval = Effect.flatMap(
      Effect.timed(rounds),
      ([taken]) => Effect.sleep(Math.max(0, intervalMillis - Duration.toMillis(taken)))
    )
    return Effect.andThen(Effect.sleep(intervalMillis), Effect.forever(interval))
  }
}

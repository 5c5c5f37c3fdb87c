/** The leases of a process: it renews those of its tasks, and takes over, or ends, tasks whose leases have lapsed. */

import { type JsonRpc, McpError } from "@effect-mcp/protocol"
import { webCrypto } from "@effect-mcp/session/internal"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type * as StoredTask from "../../StoredTask.ts"
import { TaskStoreError } from "../../TaskStore.ts"
import { isExpired, type OwnedTasks, withoutRun } from "./OwnedTasks.ts"

/** A task that this process takes over. */
export interface TakenOver {
  /** Runs the task, when the store has the lease. */
  readonly launch: (task: StoredTask.StoredTask) => Effect.Effect<void>
  /** Releases what the run would hold, because another process was faster. */
  readonly release: () => void
}

/** The process that has the leases. */
export interface LeaseKeeperDependencies {
  readonly tasks: OwnedTasks
  /** The time after which another process counts this one as ended, unless it has renewed its lease. */
  readonly leaseMillis: number
  /** The tasks that run here, by their ids. */
  readonly running: ReadonlyMap<string, unknown>
  /**
   * Makes a task the last one of those that run here, so that the next round begins with those that were not renewed.
   * Otherwise a store that renews some of them only in the time of a round would renew the same ones each time, and
   * never the last ones.
   */
  readonly moveToEnd: (id: string) => void
  /** Prepares another run of a task; `undefined` without room for it, or if its tool is not served here. */
  readonly takeOver: (task: StoredTask.StoredTask) => TakenOver | undefined
}

/** The number of due tasks that are handled in one go. */
const sweepSize = 100

/** The number of due tasks that are handled at the same time. */
const sweepConcurrency = 64

/** The most tasks that are looked at in one go, if many wait for a process that runs them again. */
const maxSweepSize = 10_000

/** The number of times that a round is repeated at once. */
const maxRounds = 100

/** The number of times that a task is started. A task that ends its process each time would do so for ever. */
export const maxStarts = 5

/** The time for which a resumable task waits for a process that runs it again, in milliseconds. */
const waitingMillis = 300_000

/** Returns the change that ends a task as failed. */
const failed = (message: string): Partial<StoredTask.StoredTask> => {
  const error: JsonRpc.ErrorObject = { code: McpError.internalError.code, message }
  return { ...withoutRun, outcome: { _tag: "Error", error } }
}

/** The leases of one process. */
export class LeaseKeeper {
  /** The name of this process in the leases of its tasks. */
  readonly owner = webCrypto.randomUUID()
  readonly #dependencies: LeaseKeeperDependencies

  constructor(dependencies: LeaseKeeperDependencies) {
    this.#dependencies = dependencies
  }

  /** Returns a lease of this process. */
  leaseFrom(now: number): StoredTask.TaskLease {
    return { owner: this.owner, expiresAt: now + this.#dependencies.leaseMillis }
  }

  /** Returns whether this process has the lease of a task. */
  isOurs({ lease, outcome }: Pick<StoredTask.StoredTask, "lease" | "outcome">): boolean {
    return outcome === undefined && lease?.owner === this.owner
  }

  /** Renews the leases of the tasks that run here. */
  get renewing(): Effect.Effect<never> {
    const { moveToEnd, running, tasks } = this.#dependencies
    return this.#regularly(
      "renewing leases",
      // All at once: the renewals of many tasks that hang would keep the other ones waiting until their leases lapse.
      "unbounded",
      () => Effect.succeed([...running.keys()]),
      () => false,
      (id) =>
        Effect.clockWith((clock) => tasks.renew(id, this.leaseFrom(clock.currentTimeMillisUnsafe()))).pipe(
          Effect.tap(() => Effect.sync(() => moveToEnd(id)))
        )
    )
  }

  /** Deletes tasks that have expired, and runs again, or ends, those whose processes have ended. */
  get sweeping(): Effect.Effect<never> {
    const { tasks } = this.#dependencies
    // Tasks that wait for a process with their tool stay due for long. They must not hide the next ones.
    let waiting = 0
    let isFull = false
    const due = (now: number) => {
      const size = Math.min(sweepSize + waiting, maxSweepSize)
      waiting = 0
      return Effect.tap(tasks.due(now, size), ({ length }) =>
        Effect.sync(() => {
          isFull = length === size
        }))
    }
    // The rest of a full page at once, unless nothing of it has changed: thousands of tasks may expire together.
    const goesOn = () => isFull && waiting < sweepSize
    return this.#regularly(
      "sweeping tasks",
      sweepConcurrency,
      due,
      goesOn,
      (id, now) =>
        Effect.flatMap(tasks.find(id), (state) => {
          if (state === undefined) return Effect.void
          if (isExpired(state, now)) return tasks.remove(id)
          return state.ending === undefined ? this.#sweep(id, now, () => waiting++) : Effect.void
        })
    )
  }

  /** Takes over a task whose lease has lapsed, or ends it. Calls `waits` if it has to wait for another process. */
  #sweep(id: string, now: number, waits: () => void): Effect.Effect<void, TaskStoreError> {
    const { running, takeOver, tasks } = this.#dependencies
    let taken: TakenOver | undefined
    const swept = tasks.change(id, (task) => {
      taken?.release()
      taken = undefined
      const { lease, outcome, resumption, updatedAt } = task
      // A process that was suspended for longer than a lease renews those of its own tasks.
      const isLapsed = lease !== undefined && lease.expiresAt <= now && !running.has(id)
      if (outcome !== undefined || !isLapsed || isExpired(task, now)) return undefined
      if (resumption === undefined) return failed("The process that ran the task has ended")
      if (resumption.runs >= maxStarts) {
        return failed(`The process that ran the task has ended, for the ${maxStarts}th time`)
      }
      // Otherwise, the task waits for another process, or for the end of other tasks.
      taken = takeOver(task)
      if (taken !== undefined) {
        return { lease: this.leaseFrom(now), resumption: { ...resumption, runs: resumption.runs + 1 }, updatedAt }
      }
      if (now - lease.expiresAt > waitingMillis) {
        return failed("The process that ran the task has ended, and no other one has run the task again")
      }
      waits()
      return undefined
    })
    return Effect.uninterruptibleMask((restore) =>
      Effect.flatMap(
        Effect.onExit(restore(swept), (exit) =>
          Effect.sync(() => {
            if (Exit.isFailure(exit) || exit.value._tag !== "Changed") taken?.release()
          })),
        (found) => found._tag === "Changed" && taken !== undefined ? taken.launch(found.task) : Effect.void
      )
    )
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
    const intervalMillis = this.#dependencies.leaseMillis / 3
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

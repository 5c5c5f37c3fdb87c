/** The tasks of an endpoint: which requests become tasks, their store, their runs, and the messages of the runs. */

import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import * as Semaphore from "effect/Semaphore"
import type { PrincipalLimits, TaskStore } from "../../TaskStore.ts"
import { OwnedTasks } from "./OwnedTasks.ts"
import type { TaskMessages } from "./TaskMessages.ts"
import { TaskRuns, type TaskRunsOptions } from "./TaskRuns.ts"

/** Whether a tool runs as a task: never, if the client wishes, or always. */
export type TaskSupport = "forbidden" | "optional" | "required"

/** Options of an endpoint. */
export interface TaskEndpointOptions extends TaskRunsOptions {
  readonly limits: PrincipalLimits
  readonly supportOf: (tool: string) => TaskSupport
}

/** The tasks of an endpoint, as a program sees them. */
export interface Tasks {
  /** The number of tasks that run in this process. */
  readonly running: Effect.Effect<number>
}

/** The tasks of an endpoint. */
export class TaskEndpoint implements Tasks {
  readonly tasks: OwnedTasks
  readonly runs: TaskRuns
  readonly supportOf: (tool: string) => TaskSupport
  /** The messages of the tasks that run in this process. */
  readonly messages = new Map<string, TaskMessages>()
  readonly #locks = new Map<string, { readonly semaphore: Semaphore.Semaphore; users: number }>()

  private constructor(tasks: OwnedTasks, runs: TaskRuns, supportOf: (tool: string) => TaskSupport) {
    this.tasks = tasks
    this.runs = runs
    this.supportOf = supportOf
  }

  /** Creates the tasks of an endpoint. They end when the scope closes. */
  static make(
    store: TaskStore["Service"],
    { limits, supportOf, ...options }: TaskEndpointOptions
  ): Effect.Effect<TaskEndpoint, never, Scope.Scope> {
    const tasks = new OwnedTasks(store, limits)
    return Effect.map(TaskRuns.make(tasks, options), (runs) => new TaskEndpoint(tasks, runs, supportOf))
  }

  get running(): Effect.Effect<number> {
    return Effect.sync(() => this.runs.size)
  }

  /** Runs one effect after the other for each key. */
  exclusively<A, E, R>(key: string, effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> {
    return Effect.acquireUseRelease(
      Effect.sync(() => {
        const lock = this.#locks.get(key) ?? { semaphore: Semaphore.makeUnsafe(1), users: 0 }
        lock.users++
        this.#locks.set(key, lock)
        return lock
      }),
      ({ semaphore }) => semaphore.withPermits(1)(effect),
      (lock) =>
        Effect.sync(() => {
          lock.users--
          if (lock.users === 0) this.#locks.delete(key)
        })
    )
  }
}

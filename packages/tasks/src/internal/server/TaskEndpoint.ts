/** The tasks of an endpoint: which requests become tasks, their store, their runs, and the messages of the runs. */

import { RateLimit } from "@effect-mcp/session/internal"
import type { Beginning } from "@effect-mcp/session/internalEngine"
import * as Effect from "effect/Effect"
import * as FiberMap from "effect/FiberMap"
import type * as Scope from "effect/Scope"
import type { PrincipalLimits, TaskStore } from "../../TaskStore.ts"
import { OwnedTasks } from "../runs/OwnedTasks.ts"
import { TaskRate } from "../runs/TaskRate.ts"
import { type Resumer, TaskRuns, type TaskRunsOptions } from "../runs/TaskRuns.ts"
import { NewestTurn } from "./NewestTurn.ts"
import type { TaskMessages } from "./TaskMessages.ts"

/** Whether a tool runs as a task: never, if the client wishes, or always. */
export type TaskSupport = "forbidden" | "optional" | "required"

/** Whether the calls of a tool become tasks, and when. */
export interface TaskPlan {
  readonly support: TaskSupport
  readonly begins: Beginning
  /** Whether another process runs a task of the tool again. */
  readonly isResumable: boolean
  /** Whether a call of the tool that is no task goes on at the next owner of its session. */
  readonly durable: "always" | "untilAsked" | "never"
}

/** Options of an endpoint. */
export interface TaskEndpointOptions extends Omit<TaskRunsOptions, "resume"> {
  readonly limits: PrincipalLimits
  readonly requestsPerSecond: number
  readonly planOf: (tool: string) => TaskPlan
}

/** The tasks of an endpoint. */
export class TaskEndpoint {
  readonly tasks: OwnedTasks
  readonly runs: TaskRuns
  readonly rate: TaskRate
  readonly planOf: (tool: string) => TaskPlan
  /** The messages of the tasks that run in this process. */
  readonly messages = new Map<string, TaskMessages>()
  /** The clients that are asked questions: of those that wait for one task, the newest. */
  readonly asking = new NewestTurn()
  /** Bounds the warnings about calls that could not be stored: a client without room may make thousands. */
  readonly warnings = new RateLimit(1)
  /** The durable calls that have ended here and are being deleted, by epoch and id: see `DurableCall`. */
  readonly removals: FiberMap.FiberMap<string>
  /** The number of requests that wait for the result of each task. */
  readonly waiting = new Map<string, number>()
  readonly #resumers: Set<Resumer>

  private constructor(
    tasks: OwnedTasks,
    runs: TaskRuns,
    rate: TaskRate,
    planOf: (tool: string) => TaskPlan,
    resumers: Set<Resumer>,
    removals: FiberMap.FiberMap<string>
  ) {
    this.tasks = tasks
    this.runs = runs
    this.rate = rate
    this.planOf = planOf
    this.#resumers = resumers
    this.removals = removals
  }

  /** Creates the tasks of an endpoint. They end when the scope closes. */
  static make(
    store: TaskStore["Service"],
    { limits, planOf, requestsPerSecond, ...options }: TaskEndpointOptions
  ): Effect.Effect<TaskEndpoint, never, Scope.Scope> {
    const tasks = new OwnedTasks(store, limits)
    const resumers = new Set<Resumer>()
    const resume: Resumer = (task) => {
      for (const resumer of resumers) {
        const run = resumer(task)
        if (run !== undefined) return run
      }
      return undefined
    }
    return Effect.gen(function*() {
      const removals = yield* FiberMap.make<string>()
      const runs = yield* TaskRuns.make(tasks, { ...options, resume })
      return new TaskEndpoint(tasks, runs, new TaskRate(requestsPerSecond), planOf, resumers, removals)
    })
  }

  /** Lets a server run tasks again whose processes have ended, until the returned function is called. */
  resumeWith(resumer: Resumer): () => void {
    this.#resumers.add(resumer)
    return () => {
      this.#resumers.delete(resumer)
    }
  }

  get running(): Effect.Effect<number> {
    return Effect.sync(() => this.runs.size)
  }
}

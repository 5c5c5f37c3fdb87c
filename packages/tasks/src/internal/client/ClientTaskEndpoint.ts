/** The tasks of a client: answers to questions of a server that outlive the requests of the questions. */

import type { Capabilities } from "@effect-mcp/protocol"
import type { Handlers } from "@effect-mcp/session/Handlers"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import type { PrincipalLimits, TaskStore } from "../../TaskStore.ts"
import { OwnedTasks } from "../runs/OwnedTasks.ts"
import * as TaskMethods from "../runs/TaskMethods.ts"
import { TaskRate } from "../runs/TaskRate.ts"
import { TaskRuns, type TaskRunsOptions } from "../runs/TaskRuns.ts"
import * as TaskState from "../runs/TaskState.ts"

/** Options of the tasks of a client. */
export interface ClientTaskEndpointOptions extends Omit<TaskRunsOptions, "resume"> {
  readonly limits: PrincipalLimits
  readonly requestsPerSecond: number
  /** The principal of all tasks in the store: the server that asks. */
  readonly owner: string
}

/** The tasks of a client. */
export class ClientTaskEndpoint {
  readonly tasks: OwnedTasks
  readonly runs: TaskRuns
  readonly rate: TaskRate
  readonly owner: string

  private constructor(tasks: OwnedTasks, runs: TaskRuns, rate: TaskRate, owner: string) {
    this.tasks = tasks
    this.runs = runs
    this.rate = rate
    this.owner = owner
  }

  /** Creates the tasks of a client. They end when the scope closes. */
  static make(
    store: TaskStore["Service"],
    { limits, owner, requestsPerSecond, ...options }: ClientTaskEndpointOptions
  ): Effect.Effect<ClientTaskEndpoint, never, Scope.Scope> {
    const tasks = new OwnedTasks(store, limits)
    return Effect.map(
      TaskRuns.make(tasks, options),
      (runs) => new ClientTaskEndpoint(tasks, runs, new TaskRate(requestsPerSecond), owner)
    )
  }

  get running(): Effect.Effect<number> {
    return Effect.sync(() => this.runs.size)
  }
}

/** The questions that may become tasks. */
const methods = ["elicitation/create", "sampling/createMessage"] as const

/** Returns whether a request of a server may become a task. */
export const isQuestion = (method: string): boolean => methods.some((one) => one === method)

/** Returns the capabilities of a client with handlers of these methods (TSK-01). */
export const capabilities = (handles: (method: string) => boolean): Capabilities.ClientTasks => ({
  list: {},
  cancel: {},
  requests: {
    ...(handles("elicitation/create") ? { elicitation: { create: {} } } : undefined),
    ...(handles("sampling/createMessage") ? { sampling: { createMessage: {} } } : undefined)
  }
})

/** Returns the handlers of a client, whose tasks belong to its server. */
export const handlers = (endpoint: ClientTaskEndpoint): Handlers<"server"> =>
  TaskMethods.handlersOf(
    endpoint,
    (use) => use({ principal: endpoint.owner }),
    () => true,
    (taskId) =>
      Effect.flatMap(endpoint.tasks.outcome(taskId, endpoint.owner), (outcome) => TaskState.payload(taskId, outcome))
  )

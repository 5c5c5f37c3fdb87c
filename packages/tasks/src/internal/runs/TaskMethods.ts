/** The methods for tasks in revision 2025-11-25, which both sides serve for the tasks that they run. */

import { McpError, type Task } from "@effect-mcp/protocol"
import * as Effect from "effect/Effect"
import type { OwnedTasks } from "./OwnedTasks.ts"
import type { TaskClient, TaskRate } from "./TaskRate.ts"
import type { TaskRuns } from "./TaskRuns.ts"
import * as TaskState from "./TaskState.ts"

/** The tasks of one side. */
export interface TaskMethodsDependencies {
  readonly rate: TaskRate
  readonly runs: TaskRuns
  readonly tasks: OwnedTasks
}

/** The error of a list for clients that cannot be told apart: each would see the tasks of all others (TSK-27). */
const anonymousList = new McpError.McpError({
  code: McpError.methodNotFound("tasks/list").code,
  message: "Method not found: tasks/list; the server does not know who you are, so keep the ids of your tasks"
})

/** Returns the handlers of the tasks of one principal at a time, which `from` provides. */
export const handlersOf = <R, Result>(
  { rate, runs, tasks }: TaskMethodsDependencies,
  from: <A, E, R1>(use: (client: TaskClient) => Effect.Effect<A, E, R1>) => Effect.Effect<A, E, R | R1>,
  mayList: (principal: string | undefined) => boolean,
  result: (taskId: string) => Effect.Effect<Task.TaskPayload, McpError.McpError, Result>
) => {
  const reading = <A, E, R1 = never>(use: (principal: string | undefined) => Effect.Effect<A, E, R1>) =>
    from((client) => rate.limitRead(client, Effect.suspend(() => use(client.principal))))
  return {
    "tasks/get": ({ taskId }: Task.TaskParams) =>
      reading((principal) => Effect.map(tasks.load(taskId, principal), TaskState.legacy)),
    "tasks/result": ({ taskId }: Task.TaskParams) => reading(() => result(taskId)),
    "tasks/list": ({ cursor }: { readonly cursor?: string }) =>
      reading((principal) =>
        mayList(principal)
          ? Effect.map(tasks.list(principal, cursor), ({ next, tasks }) => ({
            tasks: tasks.map((task) => TaskState.legacy(task)),
            ...(next === undefined ? undefined : { nextCursor: next })
          }))
          : Effect.fail(anonymousList)
      ),
    "tasks/cancel": ({ taskId }: Task.TaskParams) =>
      from((client) =>
        rate.limitChange(
          client,
          Effect.flatMap(runs.cancel(taskId, client.principal), ({ isNew, task }) => {
            const state = TaskState.legacy(task)
            return isNew
              ? Effect.succeed(state)
              : Effect.fail(McpError.invalidParams(`The task has ended already (${state.status})`))
          })
        )
      )
  }
}

/** The handlers of the methods for tasks in revision 2025-11-25. */

import { type Capabilities, McpError, type Task } from "@effect-mcp/protocol"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import type { Handlers } from "../../Handlers.ts"
import { RequestContext } from "../../RequestContext.ts"
import type { AnswerEndpoint } from "./AnswerEndpoint.ts"
import type { TaskEndpoint } from "./TaskEndpoint.ts"
import * as TaskRate from "./TaskRate.ts"
import * as TaskResult from "./TaskResult.ts"
import * as TaskState from "./TaskState.ts"

/** The error of a list for clients that cannot be told apart: each would see the tasks of all others (TSK-27). */
const anonymousList = new McpError.McpError({
  code: McpError.methodNotFound("tasks/list").code,
  message: "Method not found: tasks/list; the server does not know who you are, so keep the ids of your tasks"
})

/** The requests that may become tasks. The capabilities of the methods follow from their handlers (TSK-01). */
export const capabilities: Capabilities.ServerTasks = { list: {}, cancel: {}, requests: { tools: { call: {} } } }

/** Returns the handlers of the tasks of one principal at a time, which `from` provides. */
const handlersOf = <R, Result>(
  { rate, runs, tasks }: Pick<TaskEndpoint, "rate" | "runs" | "tasks">,
  from: <A, E, R1>(use: (client: TaskRate.TaskClient) => Effect.Effect<A, E, R1>) => Effect.Effect<A, E, R | R1>,
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

/**
 * Returns the handlers of a server. With `listsAnonymous`, clients without a principal list the tasks of all such
 * clients: a server with one client permits that.
 */
export const make = (
  endpoint: TaskEndpoint,
  { listsAnonymous }: { readonly listsAnonymous: boolean }
): Handlers<"client", RequestContext | Scope.Scope> =>
  handlersOf(
    endpoint,
    (use) => Effect.flatMap(RequestContext, (context) => use(TaskRate.clientOf(context))),
    (principal) => principal !== undefined || listsAnonymous,
    (taskId) => TaskResult.make(endpoint, taskId)
  )

/** Returns the handlers of a client, whose tasks belong to its server. */
export const ofClient = (endpoint: AnswerEndpoint): Handlers<"server"> =>
  handlersOf(
    endpoint,
    (use) => use({ principal: endpoint.owner }),
    () => true,
    (taskId) =>
      Effect.flatMap(endpoint.tasks.outcome(taskId, endpoint.owner), (outcome) => TaskState.payload(taskId, outcome))
  )

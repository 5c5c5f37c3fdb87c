/** The handlers of the methods for tasks in revision 2025-11-25. */

import { type Capabilities, McpError } from "@effect-mcp/protocol"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import type { Handlers } from "../../Handlers.ts"
import { RequestContext } from "../../RequestContext.ts"
import type { TaskEndpoint } from "./TaskEndpoint.ts"
import * as TaskResult from "./TaskResult.ts"
import * as TaskState from "./TaskState.ts"

/** Runs an effect with the id of the principal that has sent the request. */
const withPrincipal = <A, E, R>(use: (principal: string | undefined) => Effect.Effect<A, E, R>) =>
  Effect.flatMap(RequestContext, ({ principal }) => use(principal?.id))

/** The error of a list for clients that cannot be told apart: each would see the tasks of all others (TSK-27). */
const anonymousList = new McpError.McpError({
  code: McpError.methodNotFound("tasks/list").code,
  message: "Method not found: tasks/list; the server does not know who you are, so keep the ids of your tasks"
})

/** The requests that may become tasks. The capabilities of the methods follow from their handlers (TSK-01). */
export const capabilities: Capabilities.ServerTasks = { list: {}, cancel: {}, requests: { tools: { call: {} } } }

/**
 * Returns the handlers. With `listsAnonymous`, clients without a principal list the tasks of all such clients: a server
 * with one client permits that.
 */
export const make = (
  endpoint: TaskEndpoint,
  { listsAnonymous }: { readonly listsAnonymous: boolean }
): Handlers<"client", RequestContext | Scope.Scope> => ({
  "tasks/get": ({ taskId }) =>
    withPrincipal((principal) => Effect.map(endpoint.tasks.load(taskId, principal), TaskState.legacy)),
  "tasks/result": ({ taskId }) => TaskResult.make(endpoint, taskId),
  "tasks/list": ({ cursor }) =>
    withPrincipal((principal) =>
      principal === undefined && !listsAnonymous
        ? Effect.fail(anonymousList)
        : Effect.map(endpoint.tasks.list(principal, cursor), ({ next, tasks }) => ({
          tasks: tasks.map(TaskState.legacy),
          ...(next === undefined ? undefined : { nextCursor: next })
        }))
    ),
  "tasks/cancel": ({ taskId }) =>
    withPrincipal((principal) =>
      Effect.flatMap(endpoint.runs.cancel(taskId, principal), ({ isNew, task }) => {
        const state = TaskState.legacy(task)
        return isNew
          ? Effect.succeed(state)
          : Effect.fail(McpError.invalidParams(`The task has ended already (${state.status})`))
      })
    )
})

/** The handlers of a server for the methods for tasks, in revision 2025-11-25. */

import type { Capabilities } from "@effect-mcp/protocol"
import type { Handlers } from "@effect-mcp/session/Handlers"
import { RequestContext } from "@effect-mcp/session/RequestContext"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import * as TaskMethods from "../runs/TaskMethods.ts"
import * as TaskRate from "../runs/TaskRate.ts"
import type { TaskEndpoint } from "./TaskEndpoint.ts"
import * as TaskResult from "./TaskResult.ts"

/** The requests that may become tasks. The capabilities of the methods follow from their handlers (TSK-01). */
export const capabilities: Capabilities.ServerTasks = { list: {}, cancel: {}, requests: { tools: { call: {} } } }

/**
 * Returns the handlers of a server. With `listsAnonymous`, clients without a principal list the tasks of all such
 * clients: a server with one client permits that.
 */
export const make = (
  endpoint: TaskEndpoint,
  { listsAnonymous }: { readonly listsAnonymous: boolean }
): Handlers<"client", RequestContext | Scope.Scope> =>
  TaskMethods.handlersOf(
    endpoint,
    (use) => Effect.flatMap(RequestContext, (context) => use(TaskRate.clientOf(context))),
    (principal) => principal !== undefined || listsAnonymous,
    (taskId) => TaskResult.make(endpoint, taskId)
  )

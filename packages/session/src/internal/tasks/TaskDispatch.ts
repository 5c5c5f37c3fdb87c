/** Calls of tools that become tasks: the gate between the requests of clients and the handlers of a server. */

import { ErrorCode, Excerpt, type JsonRpc, type McpError, MethodTable, type Profile, Task } from "@effect-mcp/protocol"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import * as Scope from "effect/Scope"
import { MemoryBudget } from "../../MemoryBudget.ts"
import { RequestContext } from "../../RequestContext.ts"
import type * as StoredTask from "../../StoredTask.ts"
import type { Dispatch } from "../engine/Dispatch.ts"
import * as Outgoing from "../engine/Outgoing.ts"
import * as RequestRejections from "../engine/RequestRejections.ts"
import { validate } from "../engine/validation.ts"
import { trust } from "../trust.ts"
import { TaskContext, type TaskServer } from "./TaskContext.ts"
import type { TaskEndpoint } from "./TaskEndpoint.ts"
import { TaskMessages } from "./TaskMessages.ts"
import * as TaskState from "./TaskState.ts"

type Handling<R> = Effect.Effect<unknown, McpError.McpError, R>

const rejection = (tool: string, problem: string): JsonRpc.ErrorObject => ({
  code: ErrorCode.MethodNotFound,
  message: `The tool ${JSON.stringify(Excerpt.of(tool))} ${problem}`
})

/** The rejection of a call that does not ask for a task, which the tool requires (TSK-05). */
const required = (tool: string) => rejection(tool, "runs as a task only; call it with a task")

/** The rejection of a call that asks for a task, which the tool cannot be (TSK-04). */
const forbidden = (tool: string) => rejection(tool, "does not run as a task; call it without one")

const checkTask = validate(Task.TaskMetadata)

/** The only revision in which clients ask for tasks. */
const revision = "2025-11-25"

/** Returns the program that runs the handler of a call as a task. */
const run = <R>(
  { tasks }: TaskEndpoint,
  server: TaskServer,
  call: RequestContext["Service"],
  { id: taskId }: StoredTask.StoredTask,
  messages: TaskMessages,
  handling: Handling<R>
): Handling<R> =>
  // A scope of its own: that of the call has closed when the client received the id.
  Effect.scopedWith((scope) => {
    const context = new TaskContext(call, { server, tasks, taskId, messages, scope })
    return Effect.updateContext(handling, (services: Context.Context<never>) =>
      // The services of the call, with those of the task in their place.
      trust<Context.Context<R>>(services.pipe(Context.add(RequestContext, context), Context.add(Scope.Scope, scope))))
  })

/** Notifies the session that started a task of its statuses, as long as both last. */
const notifyOfStatus = (
  { tasks }: TaskEndpoint,
  server: TaskServer,
  { profile, session }: RequestContext["Service"],
  created: StoredTask.StoredTask
): Effect.Effect<void> => {
  if (session === undefined) return Effect.void
  const send = (task: Task.Task) => {
    const built = Outgoing.notification(
      MethodTable.notifications["notifications/tasks/status"],
      task,
      profile,
      server
    )
    return Result.isSuccess(built) ? Effect.ignore(session.send(built.success)) : Effect.void
  }
  const watch = (known: StoredTask.StoredTask, status: Task.Status): Effect.Effect<void> =>
    Effect.flatMap(
      Effect.orElseSucceed(Effect.andThen(tasks.awaitChange(known), tasks.find(known.id)), () => undefined),
      (task) => {
        if (task === undefined) return Effect.void
        const now = TaskState.legacy(task)
        const told = now.status === status ? Effect.void : send(now)
        return Effect.andThen(told, task.outcome === undefined ? watch(task, now.status) : Effect.void)
      }
    )
  return Effect.raceFirst(watch(created, "working"), session.closed).pipe(Effect.asVoid)
}

/** Starts the task of a call, and returns the result that has its id (TSK-14). */
const start = <R>(
  endpoint: TaskEndpoint,
  server: TaskServer,
  request: StoredTask.TaskRequest,
  { ttl }: Task.TaskMetadata,
  handling: Handling<R>
): Effect.Effect<Task.CreateTaskResult, McpError.McpError, R | RequestContext> =>
  Effect.gen(function*() {
    const call = yield* RequestContext
    const messages = new TaskMessages(call, yield* MemoryBudget)
    const task = yield* endpoint.runs.start(
      { principal: call.principal?.id, request, client: call.profile, ttlMillis: ttl },
      (task) => {
        // Before the client learns the id: it may ask for the result at once.
        endpoint.messages.set(task.id, messages)
        return run(endpoint, server, call, task, messages, handling)
      },
      ({ id }) => {
        endpoint.messages.delete(id)
        messages.end()
      }
    )
    yield* endpoint.runs.fork(notifyOfStatus(endpoint, server, call, task))
    return { task: TaskState.legacy(task) }
  })

/** Lets calls of tools become tasks, in the revision in which a client asks for that (TSK-04, TSK-05). */
export const make = <R>(dispatch: Dispatch<R>, endpoint: TaskEndpoint, server: TaskServer): Dispatch<R> => ({
  ...dispatch,
  prepare: (message, profile: Profile.Profile, isQuestion) => {
    if (message.method !== "tools/call" || profile.revision !== revision) {
      return dispatch.prepare(message, profile, isQuestion)
    }
    const { task, ...params } = message.params ?? {}
    const tool = typeof params["name"] === "string" ? params["name"] : ""
    const support = endpoint.supportOf(tool)
    if (task === undefined) {
      return support === "required" ? Result.fail(required(tool)) : dispatch.prepare(message, profile, isQuestion)
    }
    if (support === "forbidden") return Result.fail(forbidden(tool))
    const checked = checkTask(task)
    if (Result.isFailure(checked)) {
      return Result.fail(RequestRejections.invalidParams(`Invalid params for tools/call: task: ${checked.failure}`))
    }
    // What the task runs is the call without a task. Its middleware, its checks and its form are those of a plain call.
    const prepared = dispatch.prepare({ ...message, params }, profile)
    return Result.map(prepared, (handling) =>
      // Each request of a server has this service.
      trust<Effect.Effect<unknown, McpError.McpError, R>>(
        start(endpoint, server, { method: message.method, params }, checked.success, handling)
      ))
  }
})

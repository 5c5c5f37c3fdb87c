/** The runs of handlers as tasks: that of a call, and that of a task whose process has ended. */

import { type McpError, MethodTable, Revision, type Task } from "@effect-mcp/protocol"
import { Outgoing, type TaskServer } from "@effect-mcp/session/internalEngine"
import { MemoryBudget } from "@effect-mcp/session/MemoryBudget"
import { RequestContext } from "@effect-mcp/session/RequestContext"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import * as Scope from "effect/Scope"
import type * as StoredTask from "../../StoredTask.ts"
import * as StatusNotifications from "../runs/StatusNotifications.ts"
import type { ResumedRun } from "../runs/TaskRuns.ts"
import { trust } from "../trust.ts"
import * as ResumedCall from "./ResumedCall.ts"
import { TaskContext } from "./TaskContext.ts"
import type { TaskEndpoint } from "./TaskEndpoint.ts"
import { TaskMessages } from "./TaskMessages.ts"

type Handling<R> = Effect.Effect<unknown, McpError.McpError, R>

/** Returns the program that runs the handler of a call as a task. */
const run = <R>(
  { runs, tasks }: TaskEndpoint,
  server: TaskServer,
  call: ResumedCall.TaskCall,
  task: StoredTask.StoredTask,
  messages: TaskMessages | undefined,
  handling: Handling<R>
): Handling<R> =>
  // A scope of its own: that of the call has closed when the client received the id.
  Effect.scopedWith((scope) => {
    const context = new TaskContext(call, { server, tasks, task, runs, messages, scope })
    return Effect.updateContext(handling, (services: Context.Context<never>) =>
      // The services of the call, with those of the task in their place.
      trust<Context.Context<R>>(services.pipe(Context.add(RequestContext, context), Context.add(Scope.Scope, scope))))
  })

/** Returns the messages of a run; `undefined` in a revision in which no client waits for them. */
const messagesOf = (call: ResumedCall.TaskCall, budget: MemoryBudget): TaskMessages | undefined =>
  Revision.isModern(call.profile.revision) ? undefined : new TaskMessages(call, budget)

/** Ends the messages of a run, of which nothing is left. */
const ended = (endpoint: TaskEndpoint, id: string, messages: TaskMessages | undefined): void => {
  endpoint.messages.delete(id)
  messages?.end()
}

/** Returns the session that started a task, for notifications of its statuses; `undefined` without sessions. */
const notifiedSession = (
  server: TaskServer,
  { profile, session }: RequestContext["Service"]
): StatusNotifications.NotifiedSession | undefined =>
  session && {
    closed: session.closed,
    send: (task) => {
      const row = MethodTable.notifications["notifications/tasks/status"]
      const built = Outgoing.notification(row, task, profile, server)
      return Result.isSuccess(built) ? Effect.ignore(session.send(built.success)) : Effect.void
    }
  }

/** Starts the task of a call. */
export const start = <R>(
  endpoint: TaskEndpoint,
  server: TaskServer,
  request: StoredTask.TaskRequest,
  { ttl }: Task.TaskMetadata,
  isResumable: boolean,
  handling: Handling<R>
): Effect.Effect<StoredTask.TaskState, McpError.McpError, R | RequestContext> =>
  Effect.gen(function*() {
    const call = yield* RequestContext
    const messages = messagesOf(call, yield* MemoryBudget)
    const resumption = isResumable ? ResumedCall.resumptionOf(call) : undefined
    const task = yield* endpoint.runs.start(
      { principal: call.principal?.id, request, ttlMillis: ttl, resumption },
      (task) => {
        // Before the client learns the id: it may ask for the result at once.
        if (messages !== undefined) endpoint.messages.set(task.id, messages)
        return run(endpoint, server, call, task, messages, handling)
      },
      ({ id }) => ended(endpoint, id, messages)
    )
    const notified = notifiedSession(server, call)
    if (notified !== undefined) {
      yield* endpoint.runs.fork(StatusNotifications.follow(endpoint.tasks, notified, task))
    }
    return task
  })

/** Returns another run of a task, whose process has ended. The services of the handler are those of the server. */
export const again = (
  endpoint: TaskEndpoint,
  server: TaskServer,
  task: StoredTask.StoredTask,
  resumption: StoredTask.TaskResumption,
  handling: Handling<unknown>,
  context: Context.Context<never>
): ResumedRun => {
  const { id } = task
  const call = ResumedCall.make(task, resumption)
  const messages = messagesOf(call, Context.get(context, MemoryBudget))
  return {
    run: Effect.suspend(() => {
      if (messages !== undefined) endpoint.messages.set(id, messages)
      return Effect.provideContext(
        run(endpoint, server, call, task, messages, handling),
        // The context of the server has the services that its handlers need.
        trust<Context.Context<unknown>>(context)
      )
    }),
    ended: () => ended(endpoint, id, messages)
  }
}

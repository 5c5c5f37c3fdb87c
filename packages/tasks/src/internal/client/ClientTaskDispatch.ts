/** Questions of a server that become tasks of its client: the gate between its requests and the handlers. */

import { type JsonRpc, type McpError, MethodTable, type Profile, type Progress, Task } from "@effect-mcp/protocol"
import { ClientRequestContext } from "@effect-mcp/session/ClientRequestContext"
import { type AskedSession, type Dispatch, RequestRejections, validate } from "@effect-mcp/session/internalEngine"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import * as Scope from "effect/Scope"
import * as StatusNotifications from "../runs/StatusNotifications.ts"
import * as TaskState from "../runs/TaskState.ts"
import { trust } from "../trust.ts"
import * as ClientTaskEndpoint from "./ClientTaskEndpoint.ts"

type Service = ClientRequestContext["Service"]

const { notifications } = MethodTable

/**
 * Returns the context of a handler whose request became a task, from that of the request. Its progress has the token of
 * the request (PRG-08).
 */
const contextOf = ({ id, meta, method, profile }: Service, session: AskedSession, taskId: string): Service => {
  let highest = Number.NEGATIVE_INFINITY
  const progress = (step: Progress.Progress) =>
    Effect.suspend(() => {
      const progressToken = meta?.progressToken
      if (progressToken === undefined) return Effect.void
      if (!Number.isFinite(step.progress) || step.progress <= highest) return Effect.void
      highest = step.progress
      const params = { ...step, progressToken, _meta: TaskState.relatedMeta(taskId) }
      // The session may have ended. A step that JSON cannot carry is dropped as well.
      return Effect.ignore(session.sender.notify(notifications["notifications/progress"], params))
    })
  return { id, method, meta, profile, progress }
}

const checkTask = validate(Task.TaskMetadata)

/** The only revision in which servers ask for tasks. */
const revision = "2025-11-25"

/** Starts the task of a question. */
const start = <R>(
  { owner, runs, tasks }: ClientTaskEndpoint.ClientTaskEndpoint,
  session: AskedSession,
  { method, params }: JsonRpc.Request,
  { ttl }: Task.TaskMetadata,
  handling: Effect.Effect<unknown, McpError.McpError, R>
): Effect.Effect<Task.CreateTaskResult, McpError.McpError, R> =>
  Effect.gen(function*() {
    const task = yield* runs.start(
      { principal: owner, request: { method, params }, ttlMillis: ttl },
      ({ id }) =>
        // A scope of its own: that of the request closes when the server receives the id.
        Effect.scopedWith((scope) =>
          Effect.updateContext(handling, (services: Context.Context<never>) => {
            // Each request of a server has this service.
            const own = contextOf(Context.getUnsafe(services, ClientRequestContext), session, id)
            // The services of the question, with those of the task in their place.
            return trust<Context.Context<R>>(
              services.pipe(Context.add(ClientRequestContext, own), Context.add(Scope.Scope, scope))
            )
          })
        )
    )
    const send = (state: Task.Task) =>
      Effect.ignore(session.sender.notify(notifications["notifications/tasks/status"], state))
    yield* runs.fork(StatusNotifications.follow(tasks, { send, closed: session.closed }, task))
    return { task: TaskState.legacy(task) }
  })

/** Lets questions become tasks, before they reach the handlers of a client. */
export const make = (
  dispatch: Dispatch<unknown>,
  endpoint: ClientTaskEndpoint.ClientTaskEndpoint,
  session: AskedSession
): Dispatch<unknown> => ({
  ...dispatch,
  prepare: (message, profile: Profile.Profile, isQuestion) => {
    const { task, ...params } = message.params ?? {}
    if (task === undefined || profile.revision !== revision || !ClientTaskEndpoint.isQuestion(message.method)) {
      return dispatch.prepare(message, profile, isQuestion)
    }
    const checked = checkTask(task)
    if (Result.isFailure(checked)) {
      return Result.fail(
        RequestRejections.invalidParams(`Invalid params for ${message.method}: task: ${checked.failure}`)
      )
    }
    // What runs is the question without a task: its middleware and its checks are those of a plain one.
    const plain = { ...message, params }
    return Result.map(
      dispatch.prepare(plain, profile),
      (handling) => start(endpoint, session, plain, checked.success, handling)
    )
  }
})

/** Calls of tools that become tasks: the gate between the requests of clients and the handlers of a server. */

import {
  ErrorCode,
  JsonRpc,
  McpError,
  type Profile,
  Revision,
  Subscription,
  Task,
  TaskExtension
} from "@effect-mcp/protocol"
import { Excerpt } from "@effect-mcp/protocol/internal"
import {
  type BecomingRun,
  type Beginning,
  type Dispatch,
  RequestRejections,
  type ServerTaskGate,
  type StoredCalls as Calls,
  type TaskServer,
  validate
} from "@effect-mcp/session/internalEngine"
import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import type * as StoredTask from "../../StoredTask.ts"
import type { ResumedRun } from "../runs/TaskRuns.ts"
import * as TaskState from "../runs/TaskState.ts"
import { Becoming } from "./Becoming.ts"
import * as DeclaredExtension from "./DeclaredExtension.ts"
import * as DurableCall from "./DurableCall.ts"
import * as HandlerRun from "./HandlerRun.ts"
import * as StoredCalls from "./StoredCalls.ts"
import type { TaskEndpoint, TaskPlan } from "./TaskEndpoint.ts"
import * as TaskListening from "./TaskListening.ts"

type Prepare = Dispatch<unknown>["prepare"]

type Prepared = ReturnType<Prepare>

const rejection = (tool: string, problem: string): JsonRpc.ErrorObject => ({
  code: ErrorCode.MethodNotFound,
  message: `The tool ${JSON.stringify(Excerpt.of(tool))} ${problem}`
})

/** The rejection of a call that does not ask for a task, which the tool requires (TSK-05). */
const required = (tool: string) => rejection(tool, "runs as a task only; call it with a task")

/** The rejection of a call that asks for a task, which the tool cannot be (TSK-04). */
const forbidden = (tool: string) => rejection(tool, "does not run as a task; call it without one")

/** The rejection of a call that becomes a task, from a client that has not declared the extension (TKX-02). */
const undeclared = (method: string): JsonRpc.ErrorObject => {
  const { code, data, message } = DeclaredExtension.missing(method)
  return { code, message, data }
}

const checkTask = validate(Task.TaskMetadata)

/** The only revision in which clients ask for tasks. */
const revision = "2025-11-25"

const toolIn = ({ params }: JsonRpc.Request): string => {
  const name = params?.["name"]
  return typeof name === "string" ? name : ""
}

const readListening = validate(Subscription.ListenParams)

/** Returns the filter of a stream; an empty one if the params are invalid, which are rejected as those of any. */
const listening = ({ params = {} }: JsonRpc.Request): Subscription.SubscriptionFilter => {
  const read = readListening(params)
  return Result.isSuccess(read) ? read.success.notifications : {}
}

/** Returns when a call becomes a task, in the revision in which the server decides. */
const beginningIn = ({ begins, support }: TaskPlan, profile: Profile.Profile): Beginning | undefined =>
  support === "forbidden" || !TaskExtension.isDeclared(profile.capabilities) ? undefined : begins

/** Lets calls of tools become tasks, before they reach the handlers of a server. */
export class TaskDispatch implements ServerTaskGate {
  readonly dispatch: Dispatch<unknown>
  readonly calls: Calls
  readonly #handlers: Dispatch<unknown>
  readonly #endpoint: TaskEndpoint
  readonly #server: TaskServer

  constructor(handlers: Dispatch<unknown>, endpoint: TaskEndpoint, server: TaskServer) {
    this.#handlers = handlers
    this.#endpoint = endpoint
    this.#server = server
    this.calls = StoredCalls.make(endpoint, (message) => {
      const plan = this.#planOf(message)
      return Result.isSuccess(plan) && plan.success.durable !== "never"
    })
    this.dispatch = {
      ...handlers,
      prepare: (message, profile, isQuestion) => this.#prepare(message, profile, isQuestion)
    }
  }

  /** Lets the server run tasks again whose processes have ended, with these services. */
  resumeWith(context: Context.Context<never>): () => void {
    return this.#endpoint.resumeWith((task) => this.#resumed(task, context))
  }

  beginningOf(message: JsonRpc.Request, profile: Profile.Profile): Beginning | undefined {
    if (message.method !== "tools/call" || !Revision.isModern(profile.revision)) return undefined
    const plan = this.#planOf(message)
    // `prepare` reports a failure.
    return Result.isSuccess(plan) ? beginningIn(plan.success, profile) : undefined
  }

  becoming(
    message: JsonRpc.Request,
    run: BecomingRun,
    begins: Exclude<Beginning, "atOnce">,
    handling: Effect.Effect<unknown, McpError.McpError, unknown>,
    becameTask: () => void
  ): Effect.Effect<unknown, McpError.McpError, unknown> {
    return Effect.withFiber((handler) => {
      const plan = this.#planOf(message)
      const isResumable = Result.isSuccess(plan) && plan.success.isResumable
      const endpoint = this.#endpoint
      const server = this.#server
      return new Becoming({ endpoint, server, message, run, isResumable, becameTask }, handler).serve(handling, begins)
    })
  }

  /** Returns the plan of the tool that a call names. The program's function of plans may throw. */
  #planOf(message: JsonRpc.Request): Result.Result<TaskPlan, unknown> {
    return Result.try(() => this.#endpoint.planOf(toolIn(message)))
  }

  #prepare(...[message, profile, isQuestion]: Parameters<Prepare>): Prepared {
    if (message.method === "subscriptions/listen") return this.#prepareListening(message, profile)
    if (message.method !== "tools/call") return this.#handlers.prepare(message, profile, isQuestion)
    const plan = this.#planOf(message)
    // A defect of the call. An exception in here would end the session: an unknown name is enough for that.
    if (Result.isFailure(plan)) return Result.succeed(Effect.die(plan.failure))
    if (profile.revision === revision) return this.#prepareByClient(message, profile, plan.success)
    return Revision.isModern(profile.revision)
      ? this.#prepareByServer(message, profile, plan.success)
      : this.#prepareCall(message, profile, plan.success)
  }

  /** Prepares a call that is no task for its client. One of a resumable tool goes on when its process has ended. */
  #prepareCall(message: JsonRpc.Request, profile: Profile.Profile, { durable }: TaskPlan): Prepared {
    const prepared = this.#handlers.prepare(message, profile)
    return durable === "never" ? prepared : Result.map(prepared, (handling) =>
      DurableCall.serve(
        { endpoint: this.#endpoint, server: this.#server, endsWithQuestion: durable === "untilAsked" },
        message,
        handling
      ))
  }

  /** Prepares a call in the revision in which the client decides (TSK-04, TSK-05). */
  #prepareByClient(message: JsonRpc.Request, profile: Profile.Profile, plan: TaskPlan): Prepared {
    const { support } = plan
    const { task, ...params } = message.params ?? {}
    const tool = toolIn(message)
    if (task === undefined) {
      return support === "required" ? Result.fail(required(tool)) : this.#prepareCall(message, profile, plan)
    }
    if (support === "forbidden") return Result.fail(forbidden(tool))
    const checked = checkTask(task)
    return Result.isFailure(checked)
      ? Result.fail(RequestRejections.invalidParams(`Invalid params for tools/call: task: ${checked.failure}`))
      : this.#prepareTask({ ...message, params }, profile, checked.success, plan, (task) => ({
        task: TaskState.legacy(task)
      }))
  }

  /** Prepares a call in a revision in which the server decides. */
  #prepareByServer(message: JsonRpc.Request, profile: Profile.Profile, plan: TaskPlan): Prepared {
    if (!TaskExtension.isCallable(plan.support, profile)) return Result.fail(undeclared(message.method))
    if (beginningIn(plan, profile) !== "atOnce") return this.#handlers.prepare(message, profile)
    const { task: _, ...params } = message.params ?? {}
    return this.#prepareTask({ ...message, params }, profile, {}, plan, (task) => TaskState.extension(task))
  }

  /**
   * Prepares the call of a task. What runs is the call without a task: its middleware, its checks and its form are
   * those of a plain call.
   */
  #prepareTask(
    plain: JsonRpc.Request,
    profile: Profile.Profile,
    task: Task.TaskMetadata,
    { isResumable }: TaskPlan,
    toResult: (task: StoredTask.TaskState) => object
  ): Prepared {
    const { method, params } = plain
    return Result.map(this.#handlers.prepare(plain, profile), (handling) =>
      Effect.map(
        HandlerRun.start(this.#endpoint, this.#server, { method, params }, task, isResumable, handling),
        toResult
      ))
  }

  /** Prepares a stream of notifications, which the server has for tasks even if the program has none. */
  #prepareListening(message: JsonRpc.Request, profile: Profile.Profile): Prepared {
    const { taskIds = [] } = listening(message)
    if (taskIds.length === 0) return this.#handlers.prepare(message, profile)
    const others: Prepared = this.#handlers.handles(message.method)
      ? this.#handlers.prepare(message, profile)
      : Result.succeed(Effect.succeed({ notifications: {} }))
    return Result.map(others, (handling) => TaskListening.serving(this.#endpoint, taskIds, handling))
  }

  /** Prepares another run of a task, whose process has ended; `undefined` if its tool is not resumable here. */
  #resumed(task: StoredTask.StoredTask, context: Context.Context<never>): ResumedRun | undefined {
    const { id, request: { method, params }, resumption } = task
    const message = JsonRpc.request(id, method, params)
    const plan = this.#planOf(message)
    if (resumption === undefined || Result.isFailure(plan) || !plan.success.isResumable) return undefined
    const prepared = this.#handlers.prepare(message, resumption.profile)
    const handling = Result.isSuccess(prepared)
      ? prepared.success
      : Effect.fail(McpError.received(prepared.failure))
    return HandlerRun.again(this.#endpoint, this.#server, task, resumption, handling, context)
  }
}

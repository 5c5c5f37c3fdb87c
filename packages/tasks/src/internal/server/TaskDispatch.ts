/** Calls of tools that become tasks: the gate between the requests of clients and the handlers of a server. */

import {
  ErrorCode,
  Excerpt,
  JsonRpc,
  McpError,
  MethodTable,
  type Profile,
  Revision,
  Subscription,
  Task,
  TaskExtension
} from "@effect-mcp/protocol"
import {
  type BecomingRun,
  type Beginning,
  type Dispatch,
  Outgoing,
  RequestRejections,
  type ServerTaskGate,
  type TaskServer,
  validate
} from "@effect-mcp/session/internal"
import { MemoryBudget } from "@effect-mcp/session/MemoryBudget"
import { RequestContext } from "@effect-mcp/session/RequestContext"
import * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Result from "effect/Result"
import * as Scope from "effect/Scope"
import * as Semaphore from "effect/Semaphore"
import type * as StoredTask from "../../StoredTask.ts"
import * as StatusNotifications from "../runs/StatusNotifications.ts"
import type { ResumedRun } from "../runs/TaskRuns.ts"
import * as TaskState from "../runs/TaskState.ts"
import { trust } from "../trust.ts"
import { BecomingContext } from "./BecomingContext.ts"
import * as DeclaredExtension from "./DeclaredExtension.ts"
import * as ResumedCall from "./ResumedCall.ts"
import type { TaskCall } from "./ResumedCall.ts"
import { TaskContext } from "./TaskContext.ts"
import type { TaskEndpoint, TaskPlan } from "./TaskEndpoint.ts"
import * as TaskListening from "./TaskListening.ts"
import { TaskMessages } from "./TaskMessages.ts"

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
  { runs, tasks }: TaskEndpoint,
  server: TaskServer,
  call: TaskCall,
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

/** Returns what another process needs to run the task of a call again. */
const resumptionOf = (
  { principal, profile }: Pick<TaskCall, "principal" | "profile">,
  isResumable: boolean
): Pick<StoredTask.TaskResumption, "claims" | "profile"> | undefined =>
  isResumable ? { profile, claims: principal?.claims } : undefined

/** Starts the task of a call. */
const start = <R>(
  endpoint: TaskEndpoint,
  server: TaskServer,
  request: StoredTask.TaskRequest,
  { ttl }: Task.TaskMetadata,
  isResumable: boolean,
  handling: Handling<R>
): Effect.Effect<StoredTask.TaskState, McpError.McpError, R | RequestContext> =>
  Effect.gen(function*() {
    const call = yield* RequestContext
    const messages = Revision.isModern(call.profile.revision)
      ? undefined
      : new TaskMessages(call, yield* MemoryBudget)
    const task = yield* endpoint.runs.start(
      { principal: call.principal?.id, request, ttlMillis: ttl, resumption: resumptionOf(call, isResumable) },
      (task) => {
        // Before the client learns the id: it may ask for the result at once.
        if (messages !== undefined) endpoint.messages.set(task.id, messages)
        return run(endpoint, server, call, task, messages, handling)
      },
      ({ id }) => {
        endpoint.messages.delete(id)
        messages?.end()
      }
    )
    const notified = notifiedSession(server, call)
    if (notified !== undefined) {
      yield* endpoint.runs.fork(StatusNotifications.follow(endpoint.tasks, notified, task))
    }
    return task
  })

const toolIn = ({ params }: JsonRpc.Request): string => {
  const name = params?.["name"]
  return typeof name === "string" ? name : ""
}

/** The rejection of a call that becomes a task, from a client that has not declared the extension (TKX-02). */
const undeclared = (method: string): JsonRpc.ErrorObject => {
  const { code, data, message } = DeclaredExtension.missing(method)
  return { code, message, data }
}

/** Stores the answers that a call has had before it became a task, for another run. It may go on to have more. */
const storeAnswers = (
  { runs, tasks }: Pick<TaskEndpoint, "runs" | "tasks">,
  context: TaskContext,
  id: string,
  run: BecomingRun,
  stored = 0
): Effect.Effect<void> =>
  Effect.suspend(() => {
    const questions = context.answered(run.answers.slice(stored), stored)
    if (questions.length === 0) return Effect.void
    const change = tasks.change(id, (task) =>
      runs.isOurs(task) ? { questions: [...task.questions, ...questions] } : undefined)
    return Effect.andThen(
      // Another run asks again what could not be stored.
      Effect.ignoreCause(change),
      storeAnswers({ runs, tasks }, context, id, run, stored + questions.length)
    )
  })

/** Lets a call become a task, while its handler runs. Returns `false` if it has ended meanwhile. */
const become = (
  endpoint: TaskEndpoint,
  server: TaskServer,
  { method, params }: JsonRpc.Request,
  call: RequestContext["Service"],
  run: BecomingRun,
  isResumable: boolean,
  handler: Fiber.Fiber<unknown, unknown>,
  replace: (context: TaskContext) => void,
  becameTask: () => void
): Effect.Effect<boolean, McpError.McpError> =>
  Effect.suspend(() => {
    if (!run.isOpen) return Effect.succeed(false)
    let context: TaskContext | undefined
    const { steps } = run
    const isStored = Deferred.makeUnsafe<void>()
    // A step that ends from now on is not among those that are stored with the task. It waits for the task.
    if (isResumable) {
      steps.persist = (key, result) =>
        Effect.andThen(Deferred.await(isStored), Effect.suspend(() => context?.persist({ key, result }) ?? Effect.void))
    }
    const started = endpoint.runs.start(
      {
        principal: call.principal?.id,
        request: { method, params },
        ttlMillis: undefined,
        // Only another run needs the steps.
        ...(isResumable
          ? {
            steps: [...steps.results].map(([key, result]) => ({ key, result })),
            resumption: resumptionOf(call, isResumable)
          }
          : undefined)
      },
      (task) => {
        const scope = Scope.makeUnsafe()
        const { runs, tasks } = endpoint
        context = new TaskContext(call, { server, tasks, task, runs, messages: undefined, scope, steps })
        replace(context)
        // The handler of a call fails with nothing else.
        const running = trust<Handling<never>>(Fiber.join(handler))
        return Effect.onInterrupt(running, () => Fiber.interrupt(handler)).pipe(
          Effect.onExit((exit) => Scope.close(scope, exit))
        )
      }
    )
    const became = Effect.flatMap(started, (task) => {
      const answersStored = isResumable && context !== undefined
        ? storeAnswers(endpoint, context, task.id, run)
        : Effect.void
      return Effect.andThen(
        answersStored,
        Effect.suspend(() => {
          // The call has had its result meanwhile, and the client never learns the id.
          if (!run.isOpen) return Effect.as(Effect.ignoreCause(endpoint.tasks.remove(task.id)), false)
          // Before the result: its type depends on this.
          becameTask()
          run.detach(TaskState.extension(task), (method, params, key) =>
            Effect.suspend(() => context?.ask(method, params, key) ?? Effect.interrupt))
          return Effect.succeed(true)
        })
      )
    })
    return Effect.onExit(became, () =>
      Effect.sync(() => Deferred.doneUnsafe(isStored, Exit.void)))
  })

/** Lets calls of tools become tasks, before they reach the handlers of a server. */
export const make = (dispatch: Dispatch<unknown>, endpoint: TaskEndpoint, server: TaskServer): ServerTaskGate => {
  /** Returns the plan of the tool that a call names. The program's function of plans may throw. */
  const planOf = (message: JsonRpc.Request): Result.Result<TaskPlan, unknown> =>
    Result.try(() => endpoint.planOf(toolIn(message)))

  const beginningIn = ({ begins, support }: TaskPlan, profile: Profile.Profile): Beginning | undefined =>
    support === "forbidden" || !TaskExtension.isDeclared(profile.capabilities) ? undefined : begins

  /**
   * Prepares the call of a task. What runs is the call without a task: its middleware, its checks and its form are
   * those of a plain call.
   */
  const prepareTask = (
    message: JsonRpc.Request,
    params: JsonRpc.Params,
    profile: Profile.Profile,
    task: Task.TaskMetadata,
    { isResumable }: TaskPlan,
    toResult: (task: StoredTask.TaskState) => object
  ) =>
    Result.map(
      dispatch.prepare({ ...message, params }, profile),
      (handling) =>
        Effect.map(start(endpoint, server, { method: message.method, params }, task, isResumable, handling), toResult)
    )

  /** Prepares a call in the revision in which the client decides (TSK-04, TSK-05). */
  const prepareByClient = (message: JsonRpc.Request, profile: Profile.Profile, plan: TaskPlan) => {
    const { support } = plan
    const { task, ...params } = message.params ?? {}
    const tool = toolIn(message)
    if (task === undefined) {
      return support === "required" ? Result.fail(required(tool)) : dispatch.prepare(message, profile)
    }
    if (support === "forbidden") return Result.fail(forbidden(tool))
    const checked = checkTask(task)
    return Result.isFailure(checked)
      ? Result.fail(RequestRejections.invalidParams(`Invalid params for tools/call: task: ${checked.failure}`))
      : prepareTask(message, params, profile, checked.success, plan, (task) => ({ task: TaskState.legacy(task) }))
  }

  /** Prepares a call in a revision in which the server decides. */
  const prepareByServer = (message: JsonRpc.Request, profile: Profile.Profile, plan: TaskPlan) => {
    if (!TaskExtension.isCallable(plan.support, profile)) return Result.fail(undeclared(message.method))
    if (beginningIn(plan, profile) !== "atOnce") return dispatch.prepare(message, profile)
    const { task: _, ...params } = message.params ?? {}
    return prepareTask(message, params, profile, {}, plan, (task) => TaskState.extension(task))
  }

  /** Prepares a stream of notifications, which the server has for tasks even if the program has none. */
  const prepareListening = (message: JsonRpc.Request, profile: Profile.Profile) => {
    const { taskIds = [] } = listening(message)
    if (taskIds.length === 0) return dispatch.prepare(message, profile)
    const others = dispatch.handles(message.method)
      ? dispatch.prepare(message, profile)
      : Result.succeed(Effect.succeed({ notifications: {} }))
    return Result.map(others, (handling) => TaskListening.serving(endpoint, taskIds, handling))
  }

  /** Prepares another run of a task, whose process has ended. */
  const resumed = (
    task: StoredTask.StoredTask,
    resumption: StoredTask.TaskResumption,
    context: Context.Context<never>
  ): ResumedRun => {
    const { id, request: { method, params } } = task
    const { profile } = resumption
    const prepared = dispatch.prepare(JsonRpc.request(id, method, params), profile)
    const call = ResumedCall.make(task, resumption)
    const messages = Revision.isModern(profile.revision)
      ? undefined
      : new TaskMessages(call, Context.get(context, MemoryBudget))
    const handling = Result.isSuccess(prepared)
      ? prepared.success
      : Effect.fail(McpError.received(prepared.failure))
    return {
      run: Effect.suspend(() => {
        if (messages !== undefined) endpoint.messages.set(id, messages)
        // The services of the handlers are those of the server.
        return Effect.provideContext(
          run(endpoint, server, call, task, messages, handling),
          trust<Context.Context<unknown>>(context)
        )
      }),
      ended: () => {
        endpoint.messages.delete(id)
        messages?.end()
      }
    }
  }

  return {
    resumeWith: (context) =>
      endpoint.resumeWith((task) => {
        const { request: { method, params }, resumption } = task
        const plan = planOf(JsonRpc.request(task.id, method, params))
        return resumption !== undefined && Result.isSuccess(plan) && plan.success.isResumable
          ? resumed(task, resumption, context)
          : undefined
      }),
    beginningOf: (message, profile) => {
      if (message.method !== "tools/call" || !Revision.isModern(profile.revision)) return undefined
      const plan = planOf(message)
      // `prepare` reports a failure.
      return Result.isSuccess(plan) ? beginningIn(plan.success, profile) : undefined
    },
    becoming: (message, run, begins, handling, becameTask) =>
      Effect.withFiber((handler) => {
        // Each request of a server has this service.
        const call = Context.getUnsafe(handler.context, RequestContext)
        let isTask = false
        const plan = planOf(message)
        const isResumable = Result.isSuccess(plan) && plan.success.isResumable
        const one = Semaphore.makeUnsafe(1)
        const replace = (context: TaskContext) => becoming.replace(context)
        const begin = Effect.suspend(() =>
          isTask ? Effect.succeed(true) : Effect.map(
            become(endpoint, server, message, call, run, isResumable, handler, replace, becameTask),
            (became) => isTask = became
          )
        )
        // Once, even if the handler and the timer begin at the same time.
        const becoming = new BecomingContext(call, Effect.uninterruptible(one.withPermits(1)(begin)))
        const served = Effect.provideService(handling, RequestContext, becoming)
        if (begins === "explicitly") return Effect.scoped(served)
        const later = Effect.delay(Effect.ignoreCause(becoming.becomeTask), begins)
        return Effect.scoped(Effect.andThen(Effect.forkChild(later, { startImmediately: true }), served))
      }),
    dispatch: {
      ...dispatch,
      prepare: (message, profile, isQuestion) => {
        if (message.method === "subscriptions/listen") return prepareListening(message, profile)
        const isByClient = profile.revision === revision
        if (message.method !== "tools/call" || !(isByClient || Revision.isModern(profile.revision))) {
          return dispatch.prepare(message, profile, isQuestion)
        }
        const plan = planOf(message)
        // A defect of the call. An exception in here would end the session: an unknown name is enough for that.
        if (Result.isFailure(plan)) return Result.succeed(Effect.die(plan.failure))
        return isByClient
          ? prepareByClient(message, profile, plan.success)
          : prepareByServer(message, profile, plan.success)
      }
    }
  }
}

const readListening = validate(Subscription.ListenParams)

/** Returns the filter of a stream; an empty one if the params are invalid, which are rejected as those of any. */
const listening = ({ params = {} }: JsonRpc.Request): Subscription.SubscriptionFilter => {
  const read = readListening(params)
  return Result.isSuccess(read) ? read.success.notifications : {}
}

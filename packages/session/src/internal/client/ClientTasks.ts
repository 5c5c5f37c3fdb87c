/** The tasks of a server, as a client of revision 2025-11-25 uses them. */

import { MethodDefinition, MethodTable, Task, TaskExtension, Tool } from "@effect-mcp/protocol"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Option from "effect/Option"
import * as Result from "effect/Result"
import * as Schedule from "effect/Schedule"
import * as Stream from "effect/Stream"
import type { ClientTasks, TaskCallOptions, TaskHandle } from "../../ClientTasks.ts"
import * as RequestError from "../../RequestError.ts"
import type { RequestOptions } from "../../RequestOptions.ts"
import * as ProgressMailbox from "../engine/ProgressMailbox.ts"
import type { Sender } from "../engine/Sender.ts"
import type { AnySessionRuntime } from "../engine/SessionRuntime.ts"
import { validate } from "../engine/validation.ts"
import * as ExtensionTasks from "./ExtensionTasks.ts"
import type { OutputSchemas } from "./OutputSchemas.ts"
import * as Paging from "./Paging.ts"
import type { TaskSupport } from "./TaskSupport.ts"

/** A call that becomes a task (TSK-14). */
const create = MethodDefinition.request("tools/call", {
  from: "client",
  params: Tool.CallToolParams,
  result: Task.CreateTaskResult
})

/** The request for the result of the task of a call. */
const resultOfCall = MethodDefinition.request("tasks/result", {
  from: "client",
  params: Task.TaskParams,
  result: Tool.CallToolResult,
  capability: "tasks"
})

const { requests } = MethodTable

/** The pause between two requests for the state of a task that names none, the least and the longest one. */
const defaultPauseMillis = 1_000
const leastPauseMillis = 100
const longestPauseMillis = 3_600_000

const isFinal = ({ status }: Task.Task): boolean => status !== "working" && status !== "input_required"

const pauseOf = ({ pollInterval }: Task.Task): number =>
  Math.min(Math.max(pollInterval ?? defaultPauseMillis, leastPauseMillis), longestPauseMillis)

/** The session of the tasks. */
export interface ClientTasksDependencies {
  readonly runtime: AnySessionRuntime
  readonly sender: Sender
  /** The tools that run as tasks; `undefined` if the server has declared no tasks for calls of tools. */
  readonly support: TaskSupport | undefined
  readonly outputSchemas: OutputSchemas | undefined
  /** The tasks of a server without a handshake. */
  readonly extension: ExtensionTasks.ExtensionTasks | undefined
  /** Whether this client has declared the extension. */
  readonly isDeclared: boolean
}

/** The progress of a call, which continues while the client waits for the result of its task (PRG-08). */
interface FollowedProgress<R> {
  readonly token: number | string
  readonly onProgress: NonNullable<RequestOptions<R>["onProgress"]>
}

/** Returns the members of a session for tasks. */
export const make = (dependencies: ClientTasksDependencies): ClientTasks => {
  const { extension, isDeclared, outputSchemas, runtime, sender, support } = dependencies
  const fail = (method: string, reason: RequestError.RequestErrorReason) =>
    Effect.fail(RequestError.make(method, reason))

  const get = (taskId: string) => sender.request(requests["tasks/get"], { taskId })
  const cancel = (taskId: string) => sender.request(requests["tasks/cancel"], { taskId })

  const list = Paging.stream("tasks/list", runtime.limits, (cursor) =>
    Effect.map(
      sender.request(requests["tasks/list"], cursor === undefined ? {} : { cursor }),
      ({ nextCursor, tasks }) => ({ items: tasks, nextCursor })
    ))

  /** Passes the progress of a call on, while an effect runs. */
  const following = <A, R>(
    progress: FollowedProgress<R> | undefined,
    effect: Effect.Effect<A, RequestError.RequestError, R>
  ): Effect.Effect<A, RequestError.RequestError, R> => {
    if (progress === undefined) return effect
    const { budget, exchanges, limits } = runtime
    return Effect.acquireUseRelease(
      Effect.sync(() => {
        const bounds = { capacity: limits.maxProgressSteps, bytes: limits.maxNotificationBytes, budget }
        const mailbox = ProgressMailbox.make(bounds)
        exchanges.follow(progress.token, mailbox)
        return mailbox
      }),
      (mailbox) =>
        Effect.flatMap(
          Effect.forkChild(mailbox.drain(progress.onProgress), { startImmediately: true }),
          (draining) =>
            // All progress before the result is delivered before it.
            Effect.tap(effect, () => Effect.andThen(Effect.sync(() => mailbox.end()), Fiber.join(draining)))
        ),
      (mailbox) =>
        Effect.sync(() => {
          exchanges.unfollow(progress.token)
          mailbox.close()
        })
    )
  }

  const handle = <R>(
    id: string,
    tool: string | undefined,
    progress: FollowedProgress<R> | undefined
  ): TaskHandle<R> => {
    const state = get(id)
    const received = sender.request(resultOfCall, { taskId: id }, { timeout: Duration.infinity })
    const checked = tool === undefined || outputSchemas === undefined ? received : outputSchemas.checked(tool, received)
    return {
      id,
      state,
      states: Stream.paginate<Task.Task | undefined, Task.Task, RequestError.RequestError>(
        undefined,
        (last) =>
          Effect.map(
            last === undefined ? state : Effect.andThen(Effect.sleep(pauseOf(last)), state),
            (task) => [[task], isFinal(task) ? Option.none() : Option.some(task)] as const
          )
      ),
      // To ask again has no effect, so that a stream that was lost is no failure.
      result: following(
        progress,
        Effect.retry(checked, {
          while: ({ reason }) => reason._tag === "OutcomeUnknown",
          schedule: Schedule.spaced(defaultPauseMillis)
        })
      ),
      cancel: cancel(id)
    }
  }

  const call = <R = never>(
    tool: string,
    input: { readonly [name: string]: unknown } | undefined,
    { ttl, ...options }: TaskCallOptions<R> = {}
  ): Effect.Effect<TaskHandle<R>, RequestError.RequestError, R> =>
    Effect.gen(function*() {
      // Such a server would call the tool at once.
      if (support === undefined) {
        return yield* fail(create.name, { _tag: "MissingCapability", capability: "tasks.requests.tools.call" })
      }
      if ((yield* support.of(tool)) === "forbidden") {
        const problem = `the tool ${JSON.stringify(tool)} does not run as a task; use callTool`
        return yield* fail(create.name, { _tag: "InvalidParams", problem })
      }
      let token: number | string = 0
      const params: Tool.CallToolParams = {
        name: tool,
        ...(input === undefined ? undefined : { arguments: input }),
        task: ttl === undefined ? {} : { ttl: Duration.toMillis(ttl) }
      }
      const created = sender.request(create, params, {
        ...options,
        isTask: true,
        onOpen: (id) => {
          token = id
        }
      })
      const { task: { taskId } } = yield* untilAnswered(created, ({ task }) => cancel(task.taskId))
      const { onProgress } = options
      return handle(taskId, tool, onProgress === undefined ? undefined : { token, onProgress })
    })

  /** Checks the result of a task of the extension against the output schema of its tool. */
  const checkedExtension = (task: TaskHandle, tool: string | undefined): TaskHandle =>
    tool === undefined || outputSchemas === undefined
      ? task
      : { ...task, result: outputSchemas.checked(tool, task.result) }

  /** Calls a tool of a server that decides whether the call becomes a task (TKX-03). */
  const callExtension = <R = never>(
    tasks: ExtensionTasks.ExtensionTasks,
    tool: string,
    input: { readonly [name: string]: unknown } | undefined,
    options: TaskCallOptions<R> = {}
  ): Effect.Effect<TaskHandle<R>, RequestError.RequestError, R> =>
    Effect.gen(function*() {
      if (!isDeclared) return yield* fail(create.name, undeclaredExtension)
      const params: Tool.CallToolParams = { name: tool, ...(input === undefined ? undefined : { arguments: input }) }
      const response = yield* untilAnswered(
        sender.request(either, params, { ...options, isTask: true }),
        ({ resultType, taskId }) => resultType === TaskExtension.resultType ? tasks.cancel(String(taskId)) : Effect.void
      )
      if (response["resultType"] !== TaskExtension.resultType) {
        const result = validate(Tool.CallToolResult)(response)
        return Result.isSuccess(result)
          ? checkedExtension(ExtensionTasks.answered(result.success), tool)
          : yield* fail(create.name, { _tag: "InvalidResult", problem: result.failure })
      }
      const task = validate(TaskExtension.CreatedTask)(response)
      return Result.isSuccess(task)
        ? checkedExtension(tasks.handle(task.success.taskId), tool)
        : yield* fail(create.name, { _tag: "InvalidResult", problem: task.failure })
    })

  if (extension !== undefined) {
    return {
      call: (tool, input, options) => callExtension(extension, tool, input, options),
      of: (id, { tool } = {}) => checkedExtension(extension.handle(id), tool),
      list
    }
  }
  return {
    call,
    of: (id, { tool } = {}) => handle(id, tool, undefined),
    list
  }
}

/** A call whose response may be a task of the extension, or its result. */
const either = MethodDefinition.request("tools/call", {
  from: "client",
  params: Tool.CallToolParams,
  result: Task.TaskPayload
})

const undeclaredExtension: RequestError.RequestErrorReason = {
  _tag: "UndeclaredCapability",
  capability: `extensions.${TaskExtension.name}`,
  option: `capabilities: { extensions: { "${TaskExtension.name}": {} } }`
}

/**
 * Waits for the response that has the id of a task. An interruption before it must send no cancellation (CAN-03), so
 * the request goes on without its caller, and a task that is created nevertheless is cancelled by its id.
 */
const untilAnswered = <A, R>(
  created: Effect.Effect<A, RequestError.RequestError, R>,
  release: (created: A) => Effect.Effect<unknown, RequestError.RequestError>
): Effect.Effect<A, RequestError.RequestError, R> =>
  Effect.uninterruptibleMask((restore) =>
    Effect.flatMap(
      Effect.forkDetach(restore(created), { startImmediately: true }),
      (fiber) =>
        Effect.onInterrupt(
          restore(Fiber.join(fiber)),
          () => Effect.asVoid(Effect.forkDetach(Effect.ignore(Effect.flatMap(Fiber.join(fiber), release))))
        )
    )
  )

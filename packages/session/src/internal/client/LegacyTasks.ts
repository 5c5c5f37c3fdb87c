/** The tasks of a server, as a client of revision 2025-11-25 uses them. */

import { MethodDefinition, MethodTable, Task, Tool } from "@effect-mcp/protocol"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Schedule from "effect/Schedule"
import type { ClientTasks, TaskCallOptions, TaskHandle } from "../../ClientTasks.ts"
import * as RequestError from "../../RequestError.ts"
import type { RequestOptions } from "../../RequestOptions.ts"
import * as ProgressMailbox from "../engine/ProgressMailbox.ts"
import type { Sender } from "../engine/Sender.ts"
import type { AnySessionRuntime } from "../engine/SessionRuntime.ts"
import type { OutputSchemas } from "./OutputSchemas.ts"
import * as Paging from "./Paging.ts"
import * as TaskCreation from "./TaskCreation.ts"
import * as TaskPolling from "./TaskPolling.ts"
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

/** The pause before a request whose stream was lost is sent again, in milliseconds. */
const repeatMillis = 1_000

/** The session of the tasks. */
export interface LegacyTasksDependencies {
  readonly runtime: AnySessionRuntime
  readonly sender: Sender
  /** The tools that run as tasks; `undefined` if the server has declared no tasks for calls of tools. */
  readonly support: TaskSupport | undefined
  readonly outputSchemas: OutputSchemas | undefined
}

/** Streams the tasks of a client. Fails in a revision without a list. */
export const listOf = ({ runtime, sender }: Pick<LegacyTasksDependencies, "runtime" | "sender">): ClientTasks["list"] =>
  Paging.stream("tasks/list", runtime.limits, (cursor) =>
    Effect.map(
      sender.request(requests["tasks/list"], cursor === undefined ? {} : { cursor }),
      ({ nextCursor, tasks }) => ({ items: tasks, nextCursor })
    ))

/** The progress of a call, which continues while the client waits for the result of its task (PRG-08). */
interface FollowedProgress<R> {
  readonly token: number | string
  readonly onProgress: NonNullable<RequestOptions<R>["onProgress"]>
}

/** Returns the members of a session for tasks. */
export const make = (dependencies: LegacyTasksDependencies): ClientTasks => {
  const { outputSchemas, runtime, sender, support } = dependencies
  const fail = (method: string, reason: RequestError.RequestErrorReason) =>
    Effect.fail(RequestError.make(method, reason))

  const get = (taskId: string) => sender.request(requests["tasks/get"], { taskId })
  const cancel = (taskId: string) => sender.request(requests["tasks/cancel"], { taskId })

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
      states: TaskPolling.states(state, runtime.closed),
      // To ask again has no effect, so that a stream that was lost is no failure.
      result: following(
        progress,
        Effect.retry(checked, {
          while: ({ reason }) => reason._tag === "OutcomeUnknown",
          schedule: Schedule.spaced(repeatMillis)
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
      const { task: { taskId } } = yield* TaskCreation.untilAnswered(created, ({ task }) => cancel(task.taskId))
      const { onProgress } = options
      return handle(taskId, tool, onProgress === undefined ? undefined : { token, onProgress })
    })

  return {
    call,
    of: (id, { tool } = {}) => handle(id, tool, undefined),
    list: listOf(dependencies)
  }
}

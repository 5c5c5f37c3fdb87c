/** Calls that become tasks in revision 2026-07-28, in which the server decides. */

import { MethodDefinition, Task, TaskExtension, Tool } from "@effect-mcp/protocol"
import { type CallTaskRequests, TaskPolling, type TaskResults, validate } from "@effect-mcp/session/internalEngine"
import * as RequestError from "@effect-mcp/session/RequestError"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import type * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import type { CallTask, CallTaskOptions, CallTasks } from "./CallTasks.ts"
import * as LegacyCalls from "./LegacyCalls.ts"
import * as TaskCreation from "./TaskCreation.ts"

const { requests } = TaskExtension

const call = "tools/call"

const fail = (reason: RequestError.RequestErrorReason) => Effect.fail(RequestError.make(call, reason))

/** Returns the state of a task in the form of revision 2025-11-25. */
const stateOf = (
  { createdAt, lastUpdatedAt, pollIntervalMs, status, statusMessage, taskId, ttlMs }: TaskExtension.DetailedTask
): Task.Task => ({
  taskId,
  status,
  ...(statusMessage === undefined ? undefined : { statusMessage }),
  createdAt,
  lastUpdatedAt,
  ttl: ttlMs,
  ...(pollIntervalMs === undefined ? undefined : { pollInterval: pollIntervalMs })
})

/** A call whose response may be a task, or its result. */
const either = MethodDefinition.request(call, {
  from: "client",
  params: Tool.CallToolParams,
  result: Task.TaskPayload
})

const undeclared: RequestError.RequestErrorReason = {
  _tag: "UndeclaredCapability",
  capability: `extensions.${TaskExtension.name}`,
  option: `capabilities: { extensions: { "${TaskExtension.name}": {} } }`
}

/** Reads a value of the server, which the caller has by another way than by a request of its own. */
const read = <A>(schema: Schema.Codec<A>, value: unknown): Effect.Effect<A, RequestError.RequestError> => {
  const read = validate(schema)(value)
  return Result.isSuccess(read)
    ? Effect.succeed(read.success)
    : fail({ _tag: "InvalidResult", problem: read.failure })
}

/** Returns the tasks of a server. */
export const make = (calls: CallTaskRequests, results: TaskResults): CallTasks => {
  const { closed, request } = calls
  const checked = (tool: string | undefined, result: CallTask["result"]) =>
    tool === undefined ? result : calls.checked(tool, result)
  const cancel = (taskId: string) => request(requests["tasks/cancel"], { taskId })

  /** Returns a task by its id. */
  const of = (id: string, tool: string | undefined): CallTask => {
    const state = Effect.map(request(requests["tasks/get"], { taskId: id }), stateOf)
    return {
      id,
      state,
      states: TaskPolling.states(state, closed),
      result: checked(tool, Effect.flatMap(results.of(id), (result) => read(Tool.CallToolResult, result))),
      cancel: Effect.andThen(cancel(id), state)
    }
  }

  /** Returns the task of a call that the server has answered with its result, without a task. */
  const answered = (tool: string, response: unknown): Effect.Effect<CallTask, RequestError.RequestError> =>
    Effect.map(Effect.zip(read(Tool.CallToolResult, response), Clock.currentTimeMillis), ([result, now]) => {
      const time = new Date(now).toISOString()
      const state: Task.Task = { taskId: "", status: "completed", createdAt: time, lastUpdatedAt: time, ttl: null }
      return {
        id: undefined,
        state: Effect.succeed(state),
        states: Stream.succeed(state),
        result: checked(tool, Effect.succeed(result)),
        cancel: fail({
          _tag: "InvalidParams",
          problem: "the server has answered the call with its result, and made no task"
        })
      }
    })

  /** Calls a tool of a server that decides whether the call becomes a task (TKX-03). */
  const callTool = <R = never>(
    tool: string,
    input: { readonly [name: string]: unknown } | undefined,
    options: CallTaskOptions<R> = {}
  ): Effect.Effect<CallTask<R>, RequestError.RequestError, R> => {
    if (!results.isDeclared) return fail(undeclared)
    const params: Tool.CallToolParams = { name: tool, ...(input === undefined ? undefined : { arguments: input }) }
    const isTask = ({ resultType }: Task.TaskPayload) => resultType === TaskExtension.resultType
    const response = TaskCreation.untilAnswered(
      request(either, params, { ...options, isTask: true }),
      (response) => isTask(response) ? cancel(String(response["taskId"])) : Effect.void
    )
    return Effect.flatMap(response, (response) =>
      isTask(response)
        ? Effect.map(read(TaskExtension.CreatedTask, response), ({ taskId }) => of(taskId, tool))
        : answered(tool, response))
  }

  return {
    call: callTool,
    of: (id, { tool } = {}) => of(id, tool),
    list: LegacyCalls.listOf(calls)
  }
}

/** The tasks of a server in revision 2026-07-28, in which the server decides that a call becomes one. */

import {
  ErrorCode,
  type InputRequired,
  JsonRpc,
  McpError,
  MethodDefinition,
  Task,
  TaskExtension,
  Tool
} from "@effect-mcp/protocol"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Predicate from "effect/Predicate"
import * as Result from "effect/Result"
import type * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import type { ClientTasks, TaskCallOptions, TaskHandle } from "../../ClientTasks.ts"
import * as RequestError from "../../RequestError.ts"
import type { AttemptLayer } from "../engine/Layers.ts"
import type { Sender } from "../engine/Sender.ts"
import type { AnySessionRuntime } from "../engine/SessionRuntime.ts"
import { validate } from "../engine/validation.ts"
import * as TaskCreation from "../tasks/TaskCreation.ts"
import * as TaskPolling from "../tasks/TaskPolling.ts"
import type { CallBounds } from "./CallBounds.ts"
import type { InputRounds } from "./InputRounds.ts"
import * as LegacyTasks from "./LegacyTasks.ts"
import type { OutputSchemas } from "./OutputSchemas.ts"

const { requests } = TaskExtension

const call = "tools/call"

const fail = (reason: RequestError.RequestErrorReason) => Effect.fail(RequestError.make(call, reason))

/** The session of the tasks. */
export interface ExtensionTasksDependencies {
  readonly runtime: AnySessionRuntime
  readonly sender: Sender
  readonly rounds: InputRounds
  readonly outputSchemas: OutputSchemas | undefined
  readonly bounds: CallBounds
  /** Whether this client has declared the extension. */
  readonly isDeclared: boolean
}

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

/** Returns whether a result is a task, which the server makes for clients that have declared tasks. */
const isTask = (result: unknown): boolean =>
  Predicate.isObject(result) && result["resultType"] === TaskExtension.resultType

/** Reads a value of the server, which the caller has by another way than by a request of its own. */
const read = <A>(schema: Schema.Codec<A>, value: unknown): Effect.Effect<A, RequestError.RequestError> => {
  const read = validate(schema)(value)
  return Result.isSuccess(read)
    ? Effect.succeed(read.success)
    : fail({ _tag: "InvalidResult", problem: read.failure })
}

/** The tasks of a server. */
export class ExtensionTasks {
  readonly #dependencies: ExtensionTasksDependencies

  constructor(dependencies: ExtensionTasksDependencies) {
    this.#dependencies = dependencies
  }

  /** Returns the members of a session for tasks. */
  get members(): ClientTasks {
    return {
      call: (tool, input, options) => this.#call(tool, input, options),
      of: (id, { tool } = {}) => this.#handle(id, tool),
      list: LegacyTasks.listOf(this.#dependencies)
    }
  }

  /** Waits for the result of a call that became a task, within the time of the call. */
  readonly layer: AttemptLayer = (send) => (sent) => {
    if (sent.row.name !== call || sent.takesTask) return send(sent)
    return Effect.flatMap(send(sent), (answer) =>
      isTask(answer.result)
        ? Effect.map(
          this.#dependencies.bounds.within(sent, this.#finish(answer.result)),
          (result) => JsonRpc.success(answer.id, result)
        )
        : Effect.succeed(answer))
  }

  /** Waits for the result of a call that became a task. If the caller is interrupted, cancels the task (TKX-13). */
  #finish(created: unknown): Effect.Effect<{ readonly [name: string]: unknown }, RequestError.RequestError> {
    return Effect.flatMap(read(TaskExtension.CreatedTask, created), ({ pollIntervalMs, taskId }) =>
      Effect.onInterrupt(
        Effect.andThen(this.#pause(pollIntervalMs), this.#result(taskId)),
        () => Effect.asVoid(Effect.forkDetach(Effect.ignore(this.#cancel(taskId))))
      ))
  }

  /** Calls a tool of a server that decides whether the call becomes a task (TKX-03). */
  #call<R = never>(
    tool: string,
    input: { readonly [name: string]: unknown } | undefined,
    options: TaskCallOptions<R> = {}
  ): Effect.Effect<TaskHandle<R>, RequestError.RequestError, R> {
    const { isDeclared, sender } = this.#dependencies
    if (!isDeclared) return fail(undeclared)
    const params: Tool.CallToolParams = { name: tool, ...(input === undefined ? undefined : { arguments: input }) }
    const response = TaskCreation.untilAnswered(
      sender.request(either, params, { ...options, isTask: true }),
      (response) => isTask(response) ? this.#cancel(String(response["taskId"])) : Effect.void
    )
    return Effect.flatMap(response, (response) =>
      isTask(response)
        ? Effect.map(read(TaskExtension.CreatedTask, response), ({ taskId }) => this.#handle(taskId, tool))
        : this.#answered(tool, response))
  }

  /** Waits until a task has ended, and returns its result as the server has stored it (TKX-05). */
  #result(taskId: string): Effect.Effect<{ readonly [name: string]: unknown }, RequestError.RequestError> {
    /** The answered questions. The server may still show them, and a key means the same for the life of the task. */
    const answered = new Set<string>()
    let rounds = 0
    const { closed } = this.#dependencies.runtime
    const next = (wished?: number): Effect.Effect<{ readonly [name: string]: unknown }, RequestError.RequestError> =>
      Effect.flatMap(TaskPolling.patiently(this.#get(taskId), wished, closed), (task) => {
        const { pollIntervalMs } = task
        const again = Effect.andThen(this.#pause(pollIntervalMs), Effect.suspend(() => next(pollIntervalMs)))
        switch (task.status) {
          case "completed":
            return Effect.succeed(task.result)
          case "failed":
            return fail({ _tag: "ErrorResponse", error: McpError.received(task.error) })
          case "cancelled":
            return fail({ _tag: "ErrorResponse", error: cancelled })
          case "input_required": {
            const open = Object.entries(task.inputRequests).filter(([key]) => !answered.has(key))
            if (open.length === 0) return again
            if (++rounds > this.#dependencies.runtime.limits.maxRounds) return fail(tooManyRounds(rounds - 1))
            for (const [key] of open) answered.add(key)
            return Effect.andThen(this.#answer(taskId, open), again)
          }
          case "working":
            return again
        }
      })
    return Effect.suspend(() => next())
  }

  #cancel(taskId: string): Effect.Effect<unknown, RequestError.RequestError> {
    return this.#dependencies.sender.request(requests["tasks/cancel"], { taskId })
  }

  /** Returns a task by its id. */
  #handle(id: string, tool: string | undefined): TaskHandle {
    const state = Effect.map(this.#get(id), stateOf)
    return {
      id,
      state,
      states: TaskPolling.states(state, this.#dependencies.runtime.closed),
      result: this.#checked(tool, Effect.flatMap(this.#result(id), (result) => read(Tool.CallToolResult, result))),
      cancel: Effect.andThen(this.#cancel(id), state)
    }
  }

  /** Returns the handle of a call that the server has answered with its result, without a task. */
  #answered(tool: string, response: unknown): Effect.Effect<TaskHandle, RequestError.RequestError> {
    return Effect.map(Effect.zip(read(Tool.CallToolResult, response), Clock.currentTimeMillis), ([result, now]) => {
      const time = new Date(now).toISOString()
      const state: Task.Task = { taskId: "", status: "completed", createdAt: time, lastUpdatedAt: time, ttl: null }
      return {
        id: undefined,
        state: Effect.succeed(state),
        states: Stream.succeed(state),
        result: this.#checked(tool, Effect.succeed(result)),
        cancel: fail({
          _tag: "InvalidParams",
          problem: "the server has answered the call with its result, and made no task"
        })
      }
    })
  }

  /** Checks a result against the output schema of its tool. */
  #checked(tool: string | undefined, result: TaskHandle["result"]): TaskHandle["result"] {
    const { outputSchemas } = this.#dependencies
    return tool === undefined || outputSchemas === undefined ? result : outputSchemas.checked(tool, result)
  }

  #pause(wished: number | undefined): Effect.Effect<void> {
    return TaskPolling.pause(wished, this.#dependencies.runtime.closed)
  }

  #get(taskId: string): Effect.Effect<TaskExtension.DetailedTask, RequestError.RequestError> {
    return this.#dependencies.sender.request(requests["tasks/get"], { taskId })
  }

  /** Answers the questions of a task by the handlers of the session, each once. */
  #answer(
    taskId: string,
    open: ReadonlyArray<readonly [key: string, question: InputRequired.InputRequest]>
  ): Effect.Effect<unknown, RequestError.RequestError> {
    const { rounds, sender } = this.#dependencies
    const problem = rounds.tooMany(open.length)
    if (problem !== undefined) return fail({ _tag: "InvalidResult", problem })
    return Effect.flatMap(
      rounds.answers(call, open),
      (inputResponses) => sender.request(requests["tasks/update"], { taskId, inputResponses })
    )
  }
}

/** The error of a task that asks without an end. Its server could have a person answer for ever. */
const tooManyRounds = (rounds: number): RequestError.RequestErrorReason => ({
  _tag: "InvalidResult",
  problem: `the task asks in more than ${rounds} rounds; raise limits.maxRounds to answer more`
})

/** The error of a task that was cancelled, which has no result. */
const cancelled = McpError.received({ code: ErrorCode.InvalidRequest, message: "the task was cancelled" })

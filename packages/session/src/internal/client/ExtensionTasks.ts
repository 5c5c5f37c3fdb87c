/** The tasks of a server in revision 2026-07-28, in which the server decides that a call becomes one. */

import {
  ErrorCode,
  type InputRequired,
  McpError,
  type Profile,
  type Task,
  TaskExtension,
  Tool
} from "@effect-mcp/protocol"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Result from "effect/Result"
import * as Stream from "effect/Stream"
import type { TaskHandle } from "../../ClientTasks.ts"
import * as RequestError from "../../RequestError.ts"
import type { Sender } from "../engine/Sender.ts"
import { validate } from "../engine/validation.ts"
import type { InputRounds } from "./InputRounds.ts"

const { requests } = TaskExtension

/** The pause between two requests for the state of a task that names none, the least and the longest one. */
const defaultPauseMillis = 1_000
const leastPauseMillis = 100
const longestPauseMillis = 3_600_000

const call = "tools/call"

const fail = (reason: RequestError.RequestErrorReason) => Effect.fail(RequestError.make(call, reason))

/** The session of the tasks. */
export interface ExtensionTasksDependencies {
  readonly sender: Sender
  readonly rounds: InputRounds
  readonly server: () => Profile.ServerProfile | undefined
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

const isFinal = ({ status }: Task.Task): boolean => status !== "working" && status !== "input_required"

const pauseOf = (pollIntervalMs: number | undefined): number =>
  Math.min(Math.max(pollIntervalMs ?? defaultPauseMillis, leastPauseMillis), longestPauseMillis)

/** The tasks of a server. */
export class ExtensionTasks {
  readonly #dependencies: ExtensionTasksDependencies

  constructor(dependencies: ExtensionTasksDependencies) {
    this.#dependencies = dependencies
  }

  /** Waits until a task has ended, and returns its result as the server has stored it (TKX-05). */
  result(taskId: string): Effect.Effect<{ readonly [name: string]: unknown }, RequestError.RequestError> {
    const answered = new Set<string>()
    const next = (): Effect.Effect<{ readonly [name: string]: unknown }, RequestError.RequestError> =>
      Effect.flatMap(this.#get(taskId), (task) => {
        switch (task.status) {
          case "completed":
            return Effect.succeed(task.result)
          case "failed":
            return fail({ _tag: "ErrorResponse", error: McpError.received(task.error) })
          case "cancelled":
            return fail({ _tag: "ErrorResponse", error: cancelled })
          case "input_required":
            return Effect.andThen(
              this.#answer(taskId, task.inputRequests, answered),
              Effect.delay(Effect.suspend(next), pauseOf(task.pollIntervalMs))
            )
          case "working":
            return Effect.delay(Effect.suspend(next), pauseOf(task.pollIntervalMs))
        }
      })
    return Effect.suspend(next)
  }

  /** Waits for the result of a call that became a task. If the caller is interrupted, cancels the task (TKX-13). */
  finish(created: unknown): Effect.Effect<{ readonly [name: string]: unknown }, RequestError.RequestError> {
    const task = validate(TaskExtension.CreatedTask)(created)
    if (Result.isFailure(task)) return fail({ _tag: "InvalidResult", problem: task.failure })
    const { pollIntervalMs, taskId } = task.success
    return Effect.onInterrupt(
      Effect.delay(this.result(taskId), pauseOf(pollIntervalMs)),
      () => Effect.asVoid(Effect.forkDetach(Effect.ignore(this.cancel(taskId))))
    )
  }

  cancel(taskId: string): Effect.Effect<unknown, RequestError.RequestError> {
    return this.#dependencies.sender.request(requests["tasks/cancel"], { taskId })
  }

  /** Returns a task by its id. */
  handle(id: string): TaskHandle {
    const state = Effect.map(this.#get(id), stateOf)
    return {
      id,
      state,
      states: Stream.paginate<Task.Task | undefined, Task.Task, RequestError.RequestError>(
        undefined,
        (last) =>
          Effect.map(
            last === undefined ? state : Effect.delay(state, pauseOf(last.pollInterval)),
            (task) => [[task], isFinal(task) ? Option.none() : Option.some(task)] as const
          )
      ),
      result: Effect.flatMap(this.result(id), (result) => {
        const read = validate(Tool.CallToolResult)(result)
        return Result.isSuccess(read)
          ? Effect.succeed(read.success)
          : fail({ _tag: "InvalidResult", problem: read.failure })
      }),
      cancel: Effect.andThen(this.cancel(id), state)
    }
  }

  #get(taskId: string): Effect.Effect<TaskExtension.DetailedTask, RequestError.RequestError> {
    return this.#dependencies.sender.request(requests["tasks/get"], { taskId })
  }

  /** Answers the questions of a task by the handlers of the session, each once. */
  #answer(
    taskId: string,
    questions: InputRequired.InputRequests,
    answered: Set<string>
  ): Effect.Effect<unknown, RequestError.RequestError> {
    const { rounds, sender, server } = this.#dependencies
    const profile = server()
    const open = Object.entries(questions).filter(([key]) => !answered.has(key))
    if (profile === undefined || open.length === 0) return Effect.void
    return Effect.flatMap(rounds.answers(call, profile, open), (inputResponses) => {
      for (const [key] of open) answered.add(key)
      return sender.request(requests["tasks/update"], { taskId, inputResponses })
    })
  }
}

/** The error of a task that was cancelled, which has no result. */
const cancelled = McpError.received({ code: ErrorCode.InvalidRequest, message: "the task was cancelled" })

/** Returns the handle of a call that the server has answered with its result, without a task. */
export const answered = (result: Tool.CallToolResult): TaskHandle => {
  const now = new Date().toISOString()
  const state: Task.Task = { taskId: "", status: "completed", createdAt: now, lastUpdatedAt: now, ttl: null }
  return {
    id: undefined,
    state: Effect.succeed(state),
    states: Stream.succeed(state),
    result: Effect.succeed(result),
    cancel: fail({
      _tag: "InvalidParams",
      problem: "the server has answered the call with its result, and made no task"
    })
  }
}

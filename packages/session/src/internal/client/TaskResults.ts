/** The results of calls that their server made tasks, in revision 2026-07-28. */

import { ErrorCode, type InputRequired, JsonRpc, McpError, TaskExtension } from "@effect-mcp/protocol"
import * as Effect from "effect/Effect"
import * as Predicate from "effect/Predicate"
import * as Result from "effect/Result"
import * as RequestError from "../../RequestError.ts"
import type { AttemptLayer } from "../engine/Layers.ts"
import type { Sender } from "../engine/Sender.ts"
import type { AnySessionRuntime } from "../engine/SessionRuntime.ts"
import { validate } from "../engine/validation.ts"
import type { CallBounds } from "./CallBounds.ts"
import type { InputRounds } from "./InputRounds.ts"
import * as TaskPolling from "./TaskPolling.ts"

const { requests } = TaskExtension

const call = "tools/call"

const fail = (reason: RequestError.RequestErrorReason) => Effect.fail(RequestError.make(call, reason))

const readCreated = validate(TaskExtension.CreatedTask)

/** Returns whether a result is a task, which the server makes for clients that have declared tasks. */
const isTask = (result: unknown): boolean =>
  Predicate.isObject(result) && result["resultType"] === TaskExtension.resultType

/** The session of the calls. */
export interface TaskResultsDependencies {
  readonly runtime: Pick<AnySessionRuntime, "closed" | "limits">
  readonly sender: Pick<Sender, "request">
  readonly rounds: Pick<InputRounds, "answers" | "tooMany">
  readonly bounds: CallBounds
  /** Whether this client has declared the extension. */
  readonly isDeclared: boolean
}

type TaskResult = Effect.Effect<{ readonly [name: string]: unknown }, RequestError.RequestError>

/** Waits for the results of tasks, and lets the handlers of the session answer the questions of the tasks. */
export class TaskResults {
  readonly #dependencies: TaskResultsDependencies

  constructor(dependencies: TaskResultsDependencies) {
    this.#dependencies = dependencies
  }

  /** Whether this client has declared the extension. */
  get isDeclared(): boolean {
    return this.#dependencies.isDeclared
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
  #finish(created: unknown): TaskResult {
    const read = readCreated(created)
    if (Result.isFailure(read)) return fail({ _tag: "InvalidResult", problem: read.failure })
    const { pollIntervalMs, taskId } = read.success
    const { sender } = this.#dependencies
    return Effect.onInterrupt(
      Effect.andThen(this.#pause(pollIntervalMs), this.of(taskId)),
      () => Effect.asVoid(Effect.forkDetach(Effect.ignore(sender.request(requests["tasks/cancel"], { taskId }))))
    )
  }

  /** Waits until a task has ended, and returns its result as the server has stored it (TKX-05). */
  of(taskId: string): TaskResult {
    const { runtime: { closed, limits }, sender } = this.#dependencies
    const get = sender.request(requests["tasks/get"], { taskId })
    /** The answered questions. The server may still show them, and a key means the same for the life of the task. */
    const answered = new Set<string>()
    let rounds = 0
    const next = (wished?: number): TaskResult =>
      Effect.flatMap(TaskPolling.patiently(get, wished, closed), (task) => {
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
            if (++rounds > limits.maxRounds) return fail(tooManyRounds(rounds - 1))
            for (const [key] of open) answered.add(key)
            return Effect.andThen(this.#answer(taskId, open), again)
          }
          case "working":
            return again
        }
      })
    return Effect.suspend(() => next())
  }

  #pause(wished: number | undefined): Effect.Effect<void> {
    return TaskPolling.pause(wished, this.#dependencies.runtime.closed)
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

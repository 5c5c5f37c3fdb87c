/** The states of a stored task, as each revision sends them. */

import { InputRequired, McpError, Task, type TaskExtension } from "@effect-mcp/protocol"
import { ModernErrorCode } from "@effect-mcp/session/internalEngine"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import type * as StoredTask from "../../StoredTask.ts"

const timeOf = (millis: number): string => new Date(millis).toISOString()

/** Returns whether a question waits for its answer. */
export const isOpen = ({ answer, failure }: StoredTask.TaskQuestion): boolean =>
  answer === undefined && failure === undefined

/** Returns the status of a task that has not ended. */
const unfinished = ({ openQuestions }: StoredTask.TaskState): "working" | "input_required" =>
  openQuestions.length > 0 ? "input_required" : "working"

/** Returns the status in revision 2025-11-25, in which a tool that fails is a task that fails (TSK-29). */
const legacyStatus = (state: StoredTask.TaskState): Task.Status => {
  switch (state.ending) {
    case undefined:
      return unfinished(state)
    case "Result":
      return "completed"
    case "ErrorResult":
    case "Error":
      return "failed"
    case "Cancelled":
      return "cancelled"
  }
}

/** Returns the state of a task in revision 2025-11-25 (TSK-10, TSK-11). */
export const legacy = (task: StoredTask.TaskState): Task.Task => ({
  taskId: task.id,
  status: legacyStatus(task),
  ...(task.message === undefined ? {} : { statusMessage: task.message }),
  createdAt: timeOf(task.createdAt),
  lastUpdatedAt: timeOf(task.updatedAt),
  ttl: task.ttlMillis ?? null,
  pollInterval: task.pollMillis
})

/** The error of a task that has no result, because it was cancelled. Revision 2025-11-25 does not define one. */
const cancelled = McpError.invalidRequest("the task was cancelled, and has no result")

/** Returns the metadata of a message that belongs to a task (TSK-17). */
export const relatedMeta = (taskId: string): { readonly [Task.relatedTaskKey]: { readonly taskId: string } } => ({
  [Task.relatedTaskKey]: { taskId }
})

const membersOf = (value: unknown): { readonly [name: string]: unknown } =>
  typeof value === "object" && value !== null ? { ...value } : {}

/** Returns the result of `tasks/result`, or its error (TSK-15). */
export const payload = (
  id: string,
  outcome: StoredTask.Outcome
): Effect.Effect<Task.TaskPayload, McpError.McpError> => {
  switch (outcome._tag) {
    case "Result": {
      const result = membersOf(outcome.result)
      return Effect.succeed({ ...result, _meta: { ...membersOf(result["_meta"]), ...relatedMeta(id) } })
    }
    case "Error":
      return Effect.fail(McpError.received(outcome.error))
    case "Cancelled":
      return Effect.fail(cancelled)
  }
}

const asQuestion = Schema.decodeUnknownOption(InputRequired.InputRequest)

/** Returns the open questions by their keys. */
const inputRequests = ({ openQuestions }: StoredTask.TaskState): InputRequired.InputRequests =>
  Object.fromEntries(
    openQuestions.flatMap(({ key, request: { method, params } }) =>
      Option.match(asQuestion(params === undefined ? { method } : { method, params }), {
        onNone: () => [],
        onSome: (request) => [[key, request]]
      })
    )
  )

/**
 * Returns the state of a task in the extension of 2026-07-28, with the data of its status (TKX-06, TKX-08): the open
 * questions, or the outcome of a task that has ended.
 */
export const extension = (task: StoredTask.TaskState, outcome?: StoredTask.Outcome): TaskExtension.DetailedTask => {
  const fields = {
    taskId: task.id,
    ...(task.message === undefined ? {} : { statusMessage: task.message }),
    createdAt: timeOf(task.createdAt),
    lastUpdatedAt: timeOf(task.updatedAt),
    ttlMs: task.ttlMillis === undefined ? null : Math.round(task.ttlMillis),
    pollIntervalMs: Math.round(task.pollMillis)
  }
  switch (outcome?._tag) {
    case undefined: {
      const status = unfinished(task)
      return status === "working" ? { ...fields, status } : { ...fields, status, inputRequests: inputRequests(task) }
    }
    case "Result":
      // Also that of a tool that has failed (TKX-12).
      return { ...fields, status: "completed", result: membersOf(outcome.result) }
    case "Error":
      return { ...fields, status: "failed", error: { ...outcome.error, code: ModernErrorCode.of(outcome.error.code) } }
    case "Cancelled":
      return { ...fields, status: "cancelled" }
  }
}

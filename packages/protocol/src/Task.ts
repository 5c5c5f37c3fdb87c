/**
 * The messages of tasks in revision 2025-11-25. Those of revision 2026-07-28 are in `TaskExtension`.
 *
 * @stability unstable
 */
import * as Schema from "effect/Schema"
import { Meta, RequestMeta } from "./Meta.ts"

/**
 * The status of a task. `completed`, `failed` and `cancelled` are final (TSK-09).
 *
 * @category models
 */
export type Status = "working" | "input_required" | "completed" | "failed" | "cancelled"

/**
 * The schema of a {@link Status}.
 *
 * @category schemas
 */
export const Status: Schema.Codec<Status> = Schema.Literals([
  "working",
  "input_required",
  "completed",
  "failed",
  "cancelled"
])

/**
 * The member that turns a request into a task. `ttl` is the lifetime of the task in milliseconds.
 *
 * @category models
 */
export interface TaskMetadata {
  readonly ttl?: number
}

export const TaskMetadata: Schema.Codec<TaskMetadata> = Schema.Struct({ ttl: Schema.optionalKey(Schema.Finite) })

/**
 * The key in `_meta` for the task that a message belongs to (TSK-17).
 *
 * @category constants
 */
export const relatedTaskKey = "io.modelcontextprotocol/related-task"

/**
 * The state of a task. Times are ISO 8601, `ttl` and `pollInterval` are milliseconds. A `ttl` of `null` means an
 * unlimited lifetime (TSK-10, TSK-11).
 *
 * @category models
 */
export interface Task {
  readonly taskId: string
  readonly status: Status
  readonly statusMessage?: string
  readonly createdAt: string
  readonly lastUpdatedAt: string
  readonly ttl: number | null
  readonly pollInterval?: number
}

const fields = {
  taskId: Schema.String,
  status: Status,
  statusMessage: Schema.optionalKey(Schema.String),
  createdAt: Schema.String,
  lastUpdatedAt: Schema.String,
  ttl: Schema.NullOr(Schema.Finite),
  pollInterval: Schema.optionalKey(Schema.Finite)
}

/**
 * The schema of a {@link Task}.
 *
 * @category schemas
 */
export const Task: Schema.Codec<Task> = Schema.Struct(fields)

/**
 * The result of a request that became a task.
 *
 * @category models
 */
export interface CreateTaskResult {
  readonly task: Task
  readonly _meta?: Meta
}

export const CreateTaskResult: Schema.Codec<CreateTaskResult> = Schema.Struct({
  task: Task,
  _meta: Schema.optionalKey(Meta)
})

/**
 * The params that identify a task.
 *
 * @category models
 */
export interface TaskParams {
  readonly taskId: string
  readonly _meta?: RequestMeta
}

export const TaskParams: Schema.Codec<TaskParams> = Schema.Struct({
  taskId: Schema.String,
  _meta: Schema.optionalKey(RequestMeta)
})

/**
 * A task as the result of `tasks/get` or `tasks/cancel`, or as the params of a notification.
 *
 * @category models
 */
export interface TaskResult extends Task {
  readonly _meta?: Meta
}

export const TaskResult: Schema.Codec<TaskResult> = Schema.Struct({ ...fields, _meta: Schema.optionalKey(Meta) })

/**
 * The result of the request that became a task (TSK-15).
 *
 * @category models
 */
export interface TaskPayload {
  readonly [name: string]: unknown
  readonly _meta?: Meta
}

export const TaskPayload: Schema.Codec<TaskPayload> = Schema.StructWithRest(
  Schema.Struct({ _meta: Schema.optionalKey(Meta) }),
  [Schema.Record(Schema.String, Schema.Unknown)]
)

/**
 * One page of tasks.
 *
 * @category models
 */
export interface ListTasksResult {
  readonly tasks: ReadonlyArray<Task>
  readonly nextCursor?: string
  readonly _meta?: Meta
}

export const ListTasksResult: Schema.Codec<ListTasksResult> = Schema.Struct({
  tasks: Schema.Array(Task),
  nextCursor: Schema.optionalKey(Schema.String),
  _meta: Schema.optionalKey(Meta)
})

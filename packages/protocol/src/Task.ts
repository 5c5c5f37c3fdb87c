/**
 * Tasks of revision 2025-11-25: requests that outlive their response. Their messages; what is done about them comes with the
 * endpoint.
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"
import { Meta, RequestMeta } from "./Meta.ts"

/**
 * Where a task stands. `completed`, `failed` and `cancelled` are final (TSK-09).
 *
 * @category models
 * @since 0.1.0
 */
export type Status = "working" | "input_required" | "completed" | "failed" | "cancelled"

/**
 * The schema of a {@link Status}.
 *
 * @category schemas
 * @since 0.1.0
 */
export const Status: Schema.Codec<Status> = Schema.Literals([
  "working",
  "input_required",
  "completed",
  "failed",
  "cancelled"
])

/**
 * What turns a request into a task: how long to keep it, in milliseconds.
 *
 * @category models
 * @since 0.1.0
 */
export interface TaskMetadata {
  readonly ttl?: number
}

/**
 * The schema of {@link TaskMetadata}.
 *
 * @category schemas
 * @since 0.1.0
 */
export const TaskMetadata: Schema.Codec<TaskMetadata> = Schema.Struct({ ttl: Schema.optionalKey(Schema.Finite) })

/**
 * The key under which a message's `_meta` names the task it belongs to (TSK-17).
 *
 * @category constants
 * @since 0.1.0
 */
export const relatedTaskKey = "io.modelcontextprotocol/related-task"

/**
 * A task as its receiver tells of it. Times are ISO 8601, `ttl` and `pollInterval` milliseconds; a `ttl` of `null` is for
 * ever (TSK-10, TSK-11).
 *
 * @category models
 * @since 0.1.0
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
 * @since 0.1.0
 */
export const Task: Schema.Codec<Task> = Schema.Struct(fields)

/**
 * The answer to a request that has become a task.
 *
 * @category models
 * @since 0.1.0
 */
export interface CreateTaskResult {
  readonly task: Task
  readonly _meta?: Meta
}

/**
 * The schema of {@link CreateTaskResult}.
 *
 * @category schemas
 * @since 0.1.0
 */
export const CreateTaskResult: Schema.Codec<CreateTaskResult> = Schema.Struct({
  task: Task,
  _meta: Schema.optionalKey(Meta)
})

/**
 * Which task is meant.
 *
 * @category models
 * @since 0.1.0
 */
export interface TaskParams {
  readonly taskId: string
  readonly _meta?: RequestMeta
}

/**
 * The schema of {@link TaskParams}.
 *
 * @category schemas
 * @since 0.1.0
 */
export const TaskParams: Schema.Codec<TaskParams> = Schema.Struct({
  taskId: Schema.String,
  _meta: Schema.optionalKey(RequestMeta)
})

/**
 * A task, as the answer to a question about it, or as news of it.
 *
 * @category models
 * @since 0.1.0
 */
export interface TaskResult extends Task {
  readonly _meta?: Meta
}

/**
 * The schema of {@link TaskResult}.
 *
 * @category schemas
 * @since 0.1.0
 */
export const TaskResult: Schema.Codec<TaskResult> = Schema.Struct({ ...fields, _meta: Schema.optionalKey(Meta) })

/**
 * What the underlying request would have answered (TSK-15).
 *
 * @category models
 * @since 0.1.0
 */
export interface TaskPayload {
  readonly [name: string]: unknown
  readonly _meta?: Meta
}

/**
 * The schema of {@link TaskPayload}.
 *
 * @category schemas
 * @since 0.1.0
 */
export const TaskPayload: Schema.Codec<TaskPayload> = Schema.StructWithRest(
  Schema.Struct({ _meta: Schema.optionalKey(Meta) }),
  [Schema.Record(Schema.String, Schema.Unknown)]
)

/**
 * One page of tasks.
 *
 * @category models
 * @since 0.1.0
 */
export interface ListTasksResult {
  readonly tasks: ReadonlyArray<Task>
  readonly nextCursor?: string
  readonly _meta?: Meta
}

/**
 * The schema of {@link ListTasksResult}.
 *
 * @category schemas
 * @since 0.1.0
 */
export const ListTasksResult: Schema.Codec<ListTasksResult> = Schema.Struct({
  tasks: Schema.Array(Task),
  nextCursor: Schema.optionalKey(Schema.String),
  _meta: Schema.optionalKey(Meta)
})

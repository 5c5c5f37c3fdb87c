/**
 * The messages of the tasks extension, in revision 2026-07-28. A server alone decides that a request becomes a task,
 * and answers it with the task. The client then polls the task, or listens to it.
 *
 * @stability unstable
 */
import * as Schema from "effect/Schema"
import type { ClientCapabilities } from "./Capabilities.ts"
import { InputRequest, type InputRequests } from "./InputRequired.ts"
import { EmptyResult, Meta, RequestMeta } from "./Meta.ts"
import { notification, request } from "./MethodDefinition.ts"
import type { NotificationMethod, RequestMethod } from "./MethodDefinition.ts"
import { isModern, type Revision } from "./Revision.ts"
import { Status, TaskParams } from "./Task.ts"
import type { Tool } from "./Tool.ts"

/**
 * The name of the extension, in `capabilities.extensions` of both sides (TKX-01).
 *
 * @category constants
 */
export const name = "io.modelcontextprotocol/tasks"

/**
 * The `resultType` of a result that is a task (TKX-06).
 *
 * @category constants
 */
export const resultType = "task"

/**
 * Returns whether a side has declared the extension (TKX-01).
 *
 * @example
 * ```ts
 * import { TaskExtension } from "@effect-mcp/protocol"
 *
 * export const isDeclared = TaskExtension.isDeclared({ extensions: { [TaskExtension.name]: {} } }) // => true
 * ```
 *
 * @category predicates
 */
export const isDeclared = ({ extensions = {} }: Pick<ClientCapabilities, "extensions">): boolean =>
  Object.hasOwn(extensions, name)

/**
 * Returns whether a client can call a tool with this support (`execution.taskSupport`) on a server with tasks. A client
 * of revision 2026-07-28 that has not declared the extension cannot call a tool that requires tasks: its call is
 * rejected with −32021 (TKX-02). A server that is written by its methods lists the tool for the other clients only.
 *
 * @example
 * ```ts
 * import { TaskExtension } from "@effect-mcp/protocol"
 *
 * const client = { revision: "2026-07-28", capabilities: {} } as const
 *
 * export const isListed = TaskExtension.isCallable("required", client) // => false
 * ```
 *
 * @category predicates
 */
export const isCallable = (
  support: NonNullable<NonNullable<Tool["execution"]>["taskSupport"]>,
  { capabilities, revision }: {
    readonly revision: Revision
    readonly capabilities: Pick<ClientCapabilities, "extensions">
  }
): boolean => support !== "required" || !isModern(revision) || isDeclared(capabilities)

/**
 * The state of a task, without what belongs to its status. Times are ISO 8601, and the others whole milliseconds. A
 * `ttlMs` of `null` means an unlimited lifetime, counted from the creation (TKX-06).
 *
 * @category models
 */
export interface ExtensionTask {
  readonly taskId: string
  readonly status: Status
  readonly statusMessage?: string
  readonly createdAt: string
  readonly lastUpdatedAt: string
  readonly ttlMs: number | null
  readonly pollIntervalMs?: number
}

const milliseconds = Schema.Int

const fields = {
  taskId: Schema.String,
  statusMessage: Schema.optionalKey(Schema.String),
  createdAt: Schema.String,
  lastUpdatedAt: Schema.String,
  ttlMs: Schema.NullOr(milliseconds),
  pollIntervalMs: Schema.optionalKey(milliseconds)
}

/**
 * The schema of a {@link ExtensionTask}.
 *
 * @category schemas
 */
export const ExtensionTask: Schema.Codec<ExtensionTask> = Schema.Struct({ ...fields, status: Status })

/**
 * The result of a request that became a task (TKX-06). Its `resultType` is {@link resultType}.
 *
 * @category models
 */
export interface CreatedTask extends ExtensionTask {
  readonly _meta?: Meta
}

/**
 * The schema of a {@link CreatedTask}.
 *
 * @category schemas
 */
export const CreatedTask: Schema.Codec<CreatedTask> = Schema.Struct({
  ...fields,
  status: Status,
  _meta: Schema.optionalKey(Meta)
})

/**
 * A task that runs, or that was cancelled.
 *
 * @category models
 */
export interface PlainTask extends ExtensionTask {
  readonly status: "working" | "cancelled"
  readonly _meta?: Meta
}

/**
 * A task with questions. `inputRequests` has all that are not answered yet, by keys that are unique for the life of the
 * task (TKX-09).
 *
 * @category models
 */
export interface InputRequiredTask extends ExtensionTask {
  readonly status: "input_required"
  readonly inputRequests: InputRequests
  readonly _meta?: Meta
}

/**
 * A task whose request has succeeded: also a tool that has failed, with `isError` (TKX-12).
 *
 * @category models
 */
export interface CompletedTask extends ExtensionTask {
  readonly status: "completed"
  readonly result: { readonly [name: string]: unknown }
  readonly _meta?: Meta
}

/**
 * A task whose request has failed with an error of the protocol (TKX-12).
 *
 * @category models
 */
export interface FailedTask extends ExtensionTask {
  readonly status: "failed"
  readonly error: { readonly code: number; readonly message: string; readonly data?: unknown }
  readonly _meta?: Meta
}

/**
 * A task with the data of its status (TKX-08): the result of `tasks/get`, and the params of `notifications/tasks`.
 *
 * @category models
 */
export type DetailedTask = PlainTask | InputRequiredTask | CompletedTask | FailedTask

const meta = { _meta: Schema.optionalKey(Meta) }

/**
 * The schema of a {@link DetailedTask}.
 *
 * @category schemas
 */
export const DetailedTask: Schema.Codec<DetailedTask> = Schema.Union([
  Schema.Struct({ ...fields, ...meta, status: Schema.Literals(["working", "cancelled"]) }),
  Schema.Struct({
    ...fields,
    ...meta,
    status: Schema.Literal("input_required"),
    inputRequests: Schema.Record(Schema.String, InputRequest)
  }),
  Schema.Struct({
    ...fields,
    ...meta,
    status: Schema.Literal("completed"),
    result: Schema.Record(Schema.String, Schema.Unknown)
  }),
  Schema.Struct({
    ...fields,
    ...meta,
    status: Schema.Literal("failed"),
    error: Schema.Struct({
      code: Schema.Int,
      message: Schema.String,
      data: Schema.optionalKey(Schema.Unknown)
    })
  })
])

/**
 * Answers to questions of a task, by the keys of the questions. They may be some of the open ones (TKX-11).
 *
 * @category models
 */
export interface UpdateTaskParams extends TaskParams {
  readonly inputResponses: { readonly [key: string]: { readonly [name: string]: unknown } }
}

export const UpdateTaskParams: Schema.Codec<UpdateTaskParams> = Schema.Struct({
  taskId: Schema.String,
  inputResponses: Schema.Record(Schema.String, Schema.Record(Schema.String, Schema.Unknown)),
  _meta: Schema.optionalKey(RequestMeta)
})

const since = "2026-07-28"

/**
 * The requests of the extension (TKX-14). Other revisions have `tasks/get` and `tasks/cancel` with other results, in
 * the method table.
 *
 * @category constants
 */
export const requests: {
  readonly "tasks/get": RequestMethod<"tasks/get", "client", TaskParams, DetailedTask>
  readonly "tasks/update": RequestMethod<"tasks/update", "client", UpdateTaskParams, EmptyResult>
  readonly "tasks/cancel": RequestMethod<"tasks/cancel", "client", TaskParams, EmptyResult>
} = {
  "tasks/get": request("tasks/get", { from: "client", params: TaskParams, result: DetailedTask, since }),
  "tasks/update": request("tasks/update", { from: "client", params: UpdateTaskParams, result: EmptyResult, since }),
  "tasks/cancel": request("tasks/cancel", { from: "client", params: TaskParams, result: EmptyResult, since })
}

/**
 * The notifications of the extension, on a stream of `subscriptions/listen` whose filter has the ids of the tasks.
 *
 * @category constants
 */
export const notifications: {
  readonly "notifications/tasks": NotificationMethod<"notifications/tasks", "server", DetailedTask>
} = {
  "notifications/tasks": notification("notifications/tasks", { from: "server", params: DetailedTask, since })
}

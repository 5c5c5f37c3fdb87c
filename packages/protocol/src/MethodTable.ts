/**
 * The method table. The typed methods of a client, the types of handlers, the capability checks of both sides and the
 * generators of tests are derived from it. A new method is one new row.
 *
 * @stability unstable
 */
import { CancelledParams } from "./Cancelled.ts"
import { CompleteParams, CompleteResult } from "./Completion.ts"
import { DiscoverResult } from "./Discover.ts"
import { ElicitationCompleteParams, ElicitParams, ElicitResult } from "./Elicitation.ts"
import { InitializeParams, InitializeResult } from "./Initialize.ts"
import { LogMessageParams, SetLevelParams } from "./Logging.ts"
import { EmptyResult, NotificationParams, RequestParams } from "./Meta.ts"
import {
  notification,
  type NotificationMethod,
  request,
  type RequestMethod,
  type Role,
  type Sender
} from "./MethodDefinition.ts"
import { ListParams } from "./Pagination.ts"
import { ProgressParams } from "./Progress.ts"
import { GetPromptParams, GetPromptResult, ListPromptsResult } from "./Prompt.ts"
import {
  ListResourcesResult,
  ListResourceTemplatesResult,
  ReadResourceResult,
  ResourceParams,
  ResourceUpdatedParams
} from "./Resource.ts"
import { latestLegacy } from "./Revision.ts"
import { ListRootsResult } from "./Roots.ts"
import { CreateMessageParams, CreateMessageResult } from "./Sampling.ts"
import { AcknowledgedParams, ListenParams } from "./Subscription.ts"
import { ListTasksResult, TaskParams, TaskPayload, TaskResult } from "./Task.ts"
import { CallToolParams, CallToolResult, ListToolsResult } from "./Tool.ts"

/**
 * The types of the requests.
 *
 * @category models
 */
export interface Requests {
  readonly "initialize": RequestMethod<"initialize", "client", InitializeParams, InitializeResult>
  readonly "ping": RequestMethod<"ping", "either", RequestParams, EmptyResult>
  readonly "tools/list": RequestMethod<"tools/list", "client", ListParams, ListToolsResult>
  readonly "tools/call": RequestMethod<"tools/call", "client", CallToolParams, CallToolResult>
  readonly "resources/list": RequestMethod<"resources/list", "client", ListParams, ListResourcesResult>
  readonly "resources/templates/list": RequestMethod<
    "resources/templates/list",
    "client",
    ListParams,
    ListResourceTemplatesResult
  >
  readonly "resources/read": RequestMethod<"resources/read", "client", ResourceParams, ReadResourceResult>
  readonly "resources/subscribe": RequestMethod<"resources/subscribe", "client", ResourceParams, EmptyResult>
  readonly "resources/unsubscribe": RequestMethod<"resources/unsubscribe", "client", ResourceParams, EmptyResult>
  readonly "prompts/list": RequestMethod<"prompts/list", "client", ListParams, ListPromptsResult>
  readonly "prompts/get": RequestMethod<"prompts/get", "client", GetPromptParams, GetPromptResult>
  readonly "completion/complete": RequestMethod<"completion/complete", "client", CompleteParams, CompleteResult>
  readonly "logging/setLevel": RequestMethod<"logging/setLevel", "client", SetLevelParams, EmptyResult>
  readonly "sampling/createMessage": RequestMethod<
    "sampling/createMessage",
    "server",
    CreateMessageParams,
    CreateMessageResult
  >
  readonly "elicitation/create": RequestMethod<"elicitation/create", "server", ElicitParams, ElicitResult>
  readonly "roots/list": RequestMethod<"roots/list", "server", RequestParams, ListRootsResult>
  readonly "tasks/get": RequestMethod<"tasks/get", "either", TaskParams, TaskResult>
  readonly "tasks/result": RequestMethod<"tasks/result", "either", TaskParams, TaskPayload>
  readonly "tasks/list": RequestMethod<"tasks/list", "either", ListParams, ListTasksResult>
  readonly "tasks/cancel": RequestMethod<"tasks/cancel", "either", TaskParams, TaskResult>
  readonly "server/discover": RequestMethod<"server/discover", "client", RequestParams, DiscoverResult>
  readonly "subscriptions/listen": RequestMethod<"subscriptions/listen", "client", ListenParams, EmptyResult>
}

/**
 * The types of the notifications.
 *
 * @category models
 */
export interface Notifications {
  readonly "notifications/initialized": NotificationMethod<"notifications/initialized", "client", NotificationParams>
  readonly "notifications/cancelled": NotificationMethod<"notifications/cancelled", "either", CancelledParams>
  readonly "notifications/progress": NotificationMethod<"notifications/progress", "either", ProgressParams>
  readonly "notifications/roots/list_changed": NotificationMethod<
    "notifications/roots/list_changed",
    "client",
    NotificationParams
  >
  readonly "notifications/message": NotificationMethod<"notifications/message", "server", LogMessageParams>
  readonly "notifications/resources/updated": NotificationMethod<
    "notifications/resources/updated",
    "server",
    ResourceUpdatedParams
  >
  readonly "notifications/resources/list_changed": NotificationMethod<
    "notifications/resources/list_changed",
    "server",
    NotificationParams
  >
  readonly "notifications/tools/list_changed": NotificationMethod<
    "notifications/tools/list_changed",
    "server",
    NotificationParams
  >
  readonly "notifications/prompts/list_changed": NotificationMethod<
    "notifications/prompts/list_changed",
    "server",
    NotificationParams
  >
  readonly "notifications/elicitation/complete": NotificationMethod<
    "notifications/elicitation/complete",
    "server",
    ElicitationCompleteParams
  >
  readonly "notifications/tasks/status": NotificationMethod<"notifications/tasks/status", "either", TaskResult>
  readonly "notifications/subscriptions/acknowledged": NotificationMethod<
    "notifications/subscriptions/acknowledged",
    "server",
    AcknowledgedParams
  >
}

/**
 * The rows of {@link Requests}.
 *
 * @example
 * ```ts
 * import { MethodTable } from "@effect-mcp/protocol"
 *
 * export const needs = MethodTable.requests["tools/call"].capability // => "tools"
 * ```
 *
 * @category constants
 */
export const requests: Requests = {
  "initialize": request("initialize", {
    from: "client",
    params: InitializeParams,
    result: InitializeResult,
    until: latestLegacy
  }),
  "ping": request("ping", { from: "either", params: RequestParams, result: EmptyResult, until: latestLegacy }),
  "tools/list": request("tools/list", {
    from: "client",
    params: ListParams,
    result: ListToolsResult,
    capability: "tools"
  }),
  "tools/call": request("tools/call", {
    from: "client",
    params: CallToolParams,
    result: CallToolResult,
    capability: "tools"
  }),
  "resources/list": request("resources/list", {
    from: "client",
    params: ListParams,
    result: ListResourcesResult,
    capability: "resources"
  }),
  "resources/templates/list": request("resources/templates/list", {
    from: "client",
    params: ListParams,
    result: ListResourceTemplatesResult,
    capability: "resources"
  }),
  "resources/read": request("resources/read", {
    from: "client",
    params: ResourceParams,
    result: ReadResourceResult,
    capability: "resources"
  }),
  "resources/subscribe": request("resources/subscribe", {
    from: "client",
    params: ResourceParams,
    result: EmptyResult,
    capability: "resources.subscribe",
    until: latestLegacy
  }),
  "resources/unsubscribe": request("resources/unsubscribe", {
    from: "client",
    params: ResourceParams,
    result: EmptyResult,
    capability: "resources.subscribe",
    until: latestLegacy
  }),
  "prompts/list": request("prompts/list", {
    from: "client",
    params: ListParams,
    result: ListPromptsResult,
    capability: "prompts"
  }),
  "prompts/get": request("prompts/get", {
    from: "client",
    params: GetPromptParams,
    result: GetPromptResult,
    capability: "prompts"
  }),
  "completion/complete": request("completion/complete", {
    from: "client",
    params: CompleteParams,
    result: CompleteResult,
    capability: "completions"
  }),
  "logging/setLevel": request("logging/setLevel", {
    from: "client",
    params: SetLevelParams,
    result: EmptyResult,
    capability: "logging",
    until: latestLegacy
  }),
  "sampling/createMessage": request("sampling/createMessage", {
    from: "server",
    params: CreateMessageParams,
    result: CreateMessageResult,
    capability: "sampling",
    until: latestLegacy
  }),
  "elicitation/create": request("elicitation/create", {
    from: "server",
    params: ElicitParams,
    result: ElicitResult,
    capability: "elicitation",
    since: "2025-06-18",
    until: latestLegacy
  }),
  "roots/list": request("roots/list", {
    from: "server",
    params: RequestParams,
    result: ListRootsResult,
    capability: "roots",
    until: latestLegacy
  }),
  "tasks/get": request("tasks/get", {
    from: "either",
    params: TaskParams,
    result: TaskResult,
    capability: "tasks",
    since: "2025-11-25",
    until: latestLegacy
  }),
  "tasks/result": request("tasks/result", {
    from: "either",
    params: TaskParams,
    result: TaskPayload,
    capability: "tasks",
    since: "2025-11-25",
    until: latestLegacy
  }),
  "tasks/list": request("tasks/list", {
    from: "either",
    params: ListParams,
    result: ListTasksResult,
    capability: "tasks.list",
    since: "2025-11-25",
    until: latestLegacy
  }),
  "tasks/cancel": request("tasks/cancel", {
    from: "either",
    params: TaskParams,
    result: TaskResult,
    capability: "tasks.cancel",
    since: "2025-11-25",
    until: latestLegacy
  }),
  "server/discover": request("server/discover", {
    from: "client",
    params: RequestParams,
    result: DiscoverResult,
    since: "2026-07-28"
  }),
  "subscriptions/listen": request("subscriptions/listen", {
    from: "client",
    params: ListenParams,
    result: EmptyResult,
    since: "2026-07-28"
  })
}

/**
 * The rows of {@link Notifications}.
 *
 * @category constants
 */
export const notifications: Notifications = {
  "notifications/initialized": notification("notifications/initialized", {
    from: "client",
    params: NotificationParams,
    until: latestLegacy
  }),
  "notifications/cancelled": notification("notifications/cancelled", { from: "either", params: CancelledParams }),
  "notifications/progress": notification("notifications/progress", { from: "either", params: ProgressParams }),
  "notifications/roots/list_changed": notification("notifications/roots/list_changed", {
    from: "client",
    params: NotificationParams,
    capability: "roots.listChanged",
    until: latestLegacy
  }),
  "notifications/message": notification("notifications/message", {
    from: "server",
    params: LogMessageParams,
    capability: "logging"
  }),
  "notifications/resources/updated": notification("notifications/resources/updated", {
    from: "server",
    params: ResourceUpdatedParams,
    capability: "resources.subscribe"
  }),
  "notifications/resources/list_changed": notification("notifications/resources/list_changed", {
    from: "server",
    params: NotificationParams,
    capability: "resources.listChanged"
  }),
  "notifications/tools/list_changed": notification("notifications/tools/list_changed", {
    from: "server",
    params: NotificationParams,
    capability: "tools.listChanged"
  }),
  "notifications/prompts/list_changed": notification("notifications/prompts/list_changed", {
    from: "server",
    params: NotificationParams,
    capability: "prompts.listChanged"
  }),
  "notifications/elicitation/complete": notification("notifications/elicitation/complete", {
    from: "server",
    params: ElicitationCompleteParams,
    since: "2025-11-25",
    until: latestLegacy
  }),
  "notifications/tasks/status": notification("notifications/tasks/status", {
    from: "either",
    params: TaskResult,
    capability: "tasks",
    since: "2025-11-25",
    until: latestLegacy
  }),
  "notifications/subscriptions/acknowledged": notification("notifications/subscriptions/acknowledged", {
    from: "server",
    params: AcknowledgedParams,
    since: "2026-07-28"
  })
}

/**
 * The requests that a side may send.
 *
 * @category models
 */
export type RequestName<From extends Role = Role> = {
  readonly [Name in keyof Requests]: Requests[Name]["from"] extends From | "either" ? Name : never
}[keyof Requests]

/**
 * The notifications that a side may send.
 *
 * @category models
 */
export type NotificationName<From extends Role = Role> = {
  readonly [Name in keyof Notifications]: Notifications[Name]["from"] extends From | "either" ? Name : never
}[keyof Notifications]

/**
 * The params of a request.
 *
 * @category models
 */
export type ParamsOf<Name extends keyof Requests> = Requests[Name]["params"]["Type"]

/**
 * The result of a request.
 *
 * @category models
 */
export type ResultOf<Name extends keyof Requests> = Requests[Name]["result"]["Type"]

/**
 * The params of a notification.
 *
 * @category models
 */
export type NotificationParamsOf<Name extends keyof Notifications> = Notifications[Name]["params"]["Type"]

/**
 * The row of any request.
 *
 * @category models
 */
export type AnyRequest = Requests[keyof Requests]

/**
 * The row of any notification.
 *
 * @category models
 */
export type AnyNotification = Notifications[keyof Notifications]

// The names come from a peer: an object in place of the Map would find `constructor` and `__proto__`.
const requestsByName: ReadonlyMap<string, AnyRequest> = new Map(Object.entries({ ...requests }))
const notificationsByName: ReadonlyMap<string, AnyNotification> = new Map(Object.entries({ ...notifications }))

const sentBy = (row: { readonly from: Sender }, from: Role): boolean => row.from === from || row.from === "either"

/**
 * Returns the row of a request that `from` may send, or `undefined`.
 *
 * @example
 * ```ts
 * import { MethodTable } from "@effect-mcp/protocol"
 *
 * // A server does not call tools.
 * export const answers = [
 *   MethodTable.findRequest("tools/call", "client")?.capability,
 *   MethodTable.findRequest("tools/call", "server")?.capability
 * ] // => ["tools", undefined]
 * ```
 *
 * @category lookups
 */
export const findRequest = (name: string, from: Role): AnyRequest | undefined => {
  const row = requestsByName.get(name)
  return row !== undefined && sentBy(row, from) ? row : undefined
}

/**
 * Returns the row of a notification that `from` may send, or `undefined`.
 *
 * @example
 * ```ts
 * import { MethodTable } from "@effect-mcp/protocol"
 *
 * export const since = MethodTable.findNotification("notifications/tasks/status", "server")?.since // => "2025-11-25"
 * export const none = MethodTable.findNotification("constructor", "server") // => undefined
 * ```
 *
 * @category lookups
 */
export const findNotification = (name: string, from: Role): AnyNotification | undefined => {
  const row = notificationsByName.get(name)
  return row !== undefined && sentBy(row, from) ? row : undefined
}

/**
 * The method table. Typed client methods, the typed record of handlers, the gates of both sides and the tests' generators
 * are derived from it; a new method is one new row.
 *
 * @since 0.1.0
 */
import { CancelledParams } from "./Cancelled.ts"
import { InitializeParams, InitializeResult } from "./Initialize.ts"
import { LogMessageParams } from "./Logging.ts"
import { EmptyResult, NotificationParams, RequestParams } from "./Meta.ts"
import { notification, type NotificationMethod, request, type RequestMethod, type Role, type Sender } from "./Method.ts"
import { ProgressParams } from "./Progress.ts"
import { CallToolParams, CallToolResult, ListToolsParams, ListToolsResult } from "./Tool.ts"

/**
 * The methods that are answered.
 *
 * @category models
 * @since 0.1.0
 */
export interface Requests {
  readonly "initialize": RequestMethod<"initialize", "client", InitializeParams, InitializeResult>
  readonly "ping": RequestMethod<"ping", "either", RequestParams, EmptyResult>
  readonly "tools/list": RequestMethod<"tools/list", "client", ListToolsParams, ListToolsResult>
  readonly "tools/call": RequestMethod<"tools/call", "client", CallToolParams, CallToolResult>
}

/**
 * The methods that are not answered.
 *
 * @category models
 * @since 0.1.0
 */
export interface Notifications {
  readonly "notifications/initialized": NotificationMethod<"notifications/initialized", "client", NotificationParams>
  readonly "notifications/cancelled": NotificationMethod<"notifications/cancelled", "either", CancelledParams>
  readonly "notifications/progress": NotificationMethod<"notifications/progress", "either", ProgressParams>
  readonly "notifications/message": NotificationMethod<"notifications/message", "server", LogMessageParams>
}

/**
 * The rows of {@link Requests}.
 *
 * @example
 * ```ts
 * import { Methods } from "@effect-mcp/protocol"
 *
 * export const needs = Methods.requests["tools/call"].capability // => "tools"
 * ```
 *
 * @category constants
 * @since 0.1.0
 */
export const requests: Requests = {
  "initialize": request("initialize", { from: "client", params: InitializeParams, result: InitializeResult }),
  "ping": request("ping", { from: "either", params: RequestParams, result: EmptyResult }),
  "tools/list": request("tools/list", {
    from: "client",
    params: ListToolsParams,
    result: ListToolsResult,
    capability: "tools"
  }),
  "tools/call": request("tools/call", {
    from: "client",
    params: CallToolParams,
    result: CallToolResult,
    capability: "tools"
  })
}

/**
 * The rows of {@link Notifications}.
 *
 * @category constants
 * @since 0.1.0
 */
export const notifications: Notifications = {
  "notifications/initialized": notification("notifications/initialized", {
    from: "client",
    params: NotificationParams
  }),
  "notifications/cancelled": notification("notifications/cancelled", { from: "either", params: CancelledParams }),
  "notifications/progress": notification("notifications/progress", { from: "either", params: ProgressParams }),
  "notifications/message": notification("notifications/message", {
    from: "server",
    params: LogMessageParams,
    capability: "logging"
  })
}

/**
 * The methods that one side may ask the other to answer.
 *
 * @category models
 * @since 0.1.0
 */
export type RequestName<From extends Role = Role> = {
  readonly [Name in keyof Requests]: Requests[Name]["from"] extends From | "either" ? Name : never
}[keyof Requests]

/**
 * The methods that one side may tell the other.
 *
 * @category models
 * @since 0.1.0
 */
export type NotificationName<From extends Role = Role> = {
  readonly [Name in keyof Notifications]: Notifications[Name]["from"] extends From | "either" ? Name : never
}[keyof Notifications]

/**
 * The params of a request.
 *
 * @category models
 * @since 0.1.0
 */
export type ParamsOf<Name extends keyof Requests> = Requests[Name]["params"]["Type"]

/**
 * The result of a request.
 *
 * @category models
 * @since 0.1.0
 */
export type ResultOf<Name extends keyof Requests> = Requests[Name]["result"]["Type"]

/**
 * The params of a notification.
 *
 * @category models
 * @since 0.1.0
 */
export type NotificationParamsOf<Name extends keyof Notifications> = Notifications[Name]["params"]["Type"]

/**
 * Any row for a method that is answered.
 *
 * @category models
 * @since 0.1.0
 */
export type AnyRequest = Requests[keyof Requests]

/**
 * Any row for a method that is not.
 *
 * @category models
 * @since 0.1.0
 */
export type AnyNotification = Notifications[keyof Notifications]

// Looked up with names off the wire, so a Map: an object would find `constructor` and `__proto__`.
const requestsByName: ReadonlyMap<string, AnyRequest> = new Map(Object.entries({ ...requests }))
const notificationsByName: ReadonlyMap<string, AnyNotification> = new Map(Object.entries({ ...notifications }))

const sentBy = (row: { readonly from: Sender }, from: Role): boolean => row.from === from || row.from === "either"

/**
 * The row of a request that `from` may send, if there is one.
 *
 * @category lookups
 * @since 0.1.0
 */
export const findRequest = (name: string, from: Role): AnyRequest | undefined => {
  const row = requestsByName.get(name)
  return row !== undefined && sentBy(row, from) ? row : undefined
}

/**
 * The row of a notification that `from` may send, if there is one.
 *
 * @category lookups
 * @since 0.1.0
 */
export const findNotification = (name: string, from: Role): AnyNotification | undefined => {
  const row = notificationsByName.get(name)
  return row !== undefined && sentBy(row, from) ? row : undefined
}

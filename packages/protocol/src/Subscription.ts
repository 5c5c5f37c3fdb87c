/**
 * Streams of notifications that a client asks for with `subscriptions/listen`, in revision 2026-07-28.
 *
 * @stability unstable
 */
import * as Schema from "effect/Schema"
import { Meta, RequestMeta } from "./Meta.ts"
import { RequestId } from "./RequestId.ts"
import { keys } from "./RequestMetadata.ts"

/**
 * The notifications that a client wants.
 *
 * @category models
 */
export interface SubscriptionFilter {
  readonly toolsListChanged?: boolean
  readonly promptsListChanged?: boolean
  readonly resourcesListChanged?: boolean
  /** The URIs of the resources whose updates the client wants. */
  readonly resourceSubscriptions?: ReadonlyArray<string>
  /** The ids of the tasks whose states the client wants, of the tasks extension. */
  readonly taskIds?: ReadonlyArray<string>
}

/**
 * The schema of a {@link SubscriptionFilter}.
 *
 * @category schemas
 */
export const SubscriptionFilter: Schema.Codec<SubscriptionFilter> = Schema.Struct({
  toolsListChanged: Schema.optionalKey(Schema.Boolean),
  promptsListChanged: Schema.optionalKey(Schema.Boolean),
  resourcesListChanged: Schema.optionalKey(Schema.Boolean),
  resourceSubscriptions: Schema.optionalKey(Schema.Array(Schema.String)),
  taskIds: Schema.optionalKey(Schema.Array(Schema.String))
})

/**
 * The params of `subscriptions/listen`.
 *
 * @category models
 */
export interface ListenParams {
  readonly notifications: SubscriptionFilter
  readonly _meta?: RequestMeta
}

export const ListenParams: Schema.Codec<ListenParams> = Schema.Struct({
  notifications: SubscriptionFilter,
  _meta: Schema.optionalKey(RequestMeta)
})

/**
 * The params of `notifications/subscriptions/acknowledged`, the first message of a stream (SUB-02): the part of the
 * filter that the server serves (SUB-03).
 *
 * @category models
 */
export interface AcknowledgedParams {
  readonly notifications: SubscriptionFilter
  readonly _meta?: Meta
}

export const AcknowledgedParams: Schema.Codec<AcknowledgedParams> = Schema.Struct({
  notifications: SubscriptionFilter,
  _meta: Schema.optionalKey(Meta)
})

/**
 * The notifications of changes of lists.
 *
 * @category models
 */
export type ListChange =
  | "notifications/tools/list_changed"
  | "notifications/prompts/list_changed"
  | "notifications/resources/list_changed"

/**
 * The members of the filter that ask for changes of lists (SUB-01).
 *
 * @category constants
 */
export const listMembers: {
  readonly [Name in ListChange]: Exclude<keyof SubscriptionFilter, "resourceSubscriptions" | "taskIds">
} = {
  "notifications/tools/list_changed": "toolsListChanged",
  "notifications/prompts/list_changed": "promptsListChanged",
  "notifications/resources/list_changed": "resourcesListChanged"
}

/**
 * Returns metadata with the id of the request that opened the stream (SUB-05).
 *
 * @example
 * ```ts
 * import { Subscription } from "@effect-mcp/protocol"
 *
 * export const meta = Subscription.meta(1) // => { "io.modelcontextprotocol/subscriptionId": 1 }
 * ```
 *
 * @category encoding
 */
export const meta = (id: RequestId, other: Meta = {}): Meta => ({ ...other, [keys.subscriptionId]: id })

const isRequestId = Schema.is(RequestId)

/**
 * Returns the id of the request that opened the stream of a message, or `undefined` if the message belongs to none.
 *
 * @example
 * ```ts
 * import { Subscription } from "@effect-mcp/protocol"
 *
 * export const ids = [Subscription.idIn(Subscription.meta("a")), Subscription.idIn({}), Subscription.idIn(undefined)]
 * // => ["a", undefined, undefined]
 * ```
 *
 * @category decoding
 */
export const idIn = (metadata: Meta | undefined): RequestId | undefined => {
  const id = metadata?.[keys.subscriptionId]
  return isRequestId(id) ? id : undefined
}

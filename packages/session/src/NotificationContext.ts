/**
 * The context of the handler of a client's notification: the client, and the session for messages to it.
 *
 * @stability unstable
 */
import type { Profile } from "@effect-mcp/protocol"
import * as Context from "effect/Context"
import type { ServerSessionShape } from "./internal/server/ServerSessionShape.ts"

/**
 * The sender of the notification that the running handler handles. A server provides it to each of these handlers, such
 * as that of `notifications/roots/list_changed` (ROOT-02). A notification has no reply, so what a handler sends here
 * belongs to the session.
 *
 * @example
 * ```ts
 * import { NotificationContext, ServerSession } from "@effect-mcp/session"
 * import * as Effect from "effect/Effect"
 *
 * export const handlers = ServerSession.handlers({
 *   "notifications/roots/list_changed": Effect.fn(function*() {
 *     const { session } = yield* NotificationContext.NotificationContext
 *     const roots = session === undefined ? [] : (yield* session.listRoots({ timeout: "5 seconds" })).roots
 *     yield* Effect.logInfo(`the client has ${roots.length} roots now`)
 *   }, Effect.catchTag("RequestError", (error) => Effect.logWarning(error.message)))
 * })
 * ```
 *
 * @category services
 */
export class NotificationContext extends Context.Service<NotificationContext, {
  /** The session of the notification. `undefined` over stateless transports, where each message stands alone. */
  readonly session: ServerSessionShape | undefined
  /** The profile of the client. */
  readonly profile: Profile.ClientProfile
}>()("@effect-mcp/session/NotificationContext") {}

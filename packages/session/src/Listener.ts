/**
 * A stream of notifications that a client of revision 2026-07-28 has opened with `subscriptions/listen`.
 *
 * @stability unstable
 */
import type { Subscription, TaskExtension } from "@effect-mcp/protocol"
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"

/**
 * A client that listens. Its members tell it that something has changed; they never wait, and do nothing if it did not
 * ask for that notification, or after its stream has ended (SUB-01, SUB-09). Changes of the same thing that the client
 * has not received yet become one notification, so that a slow client takes no more memory than its filter. A session
 * of an older revision has members of the same names.
 *
 * @category models
 */
export interface ListenerShape {
  /** The notifications that the client asks for. */
  readonly requested: Subscription.SubscriptionFilter
  readonly toolListChanged: Effect.Effect<void>
  readonly promptListChanged: Effect.Effect<void>
  readonly resourceListChanged: Effect.Effect<void>
  readonly resourceUpdated: (uri: string) => Effect.Effect<void>
  /** Sends the state of a task. `ServerTasks` does this for the tasks of the client. */
  readonly taskChanged: (task: TaskExtension.DetailedTask) => Effect.Effect<void>
}

/**
 * The client of a handler of `subscriptions/listen`. The handler decides what the client receives, and stores the
 * listener where changes happen. The result is the part of the filter that the server serves. The scope of the request
 * stays open as long as the stream: it closes when the client leaves or the server ends.
 *
 * @example
 * ```ts
 * import { type Handlers, Listener } from "@effect-mcp/session"
 * import * as Effect from "effect/Effect"
 *
 * const listeners = new Set<Listener.ListenerShape>()
 *
 * export const handlers = {
 *   "tools/list": () => Effect.succeed({ tools: [] }),
 *   "subscriptions/listen": Effect.fnUntraced(function*() {
 *     const listener = yield* Listener.Listener
 *     yield* Effect.acquireRelease(
 *       Effect.sync(() => listeners.add(listener)),
 *       () => Effect.sync(() => listeners.delete(listener))
 *     )
 *     return { notifications: { toolsListChanged: true } }
 *   })
 * } satisfies Handlers.Handlers<"client", unknown>
 *
 * export const toolsChanged = Effect.suspend(() =>
 *   Effect.forEach(listeners, ({ toolListChanged }) => toolListChanged, { discard: true })
 * )
 * ```
 *
 * @category services
 */
export class Listener extends Context.Service<Listener, ListenerShape>()("@effect-mcp/session/Listener") {}

/**
 * The notifications that a host has received from its server.
 */
import type * as MethodTable from "@effect-mcp/protocol/MethodTable"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Queue from "effect/Queue"

type Method =
  | "notifications/message"
  | "notifications/resources/updated"
  | "notifications/resources/list_changed"
  | "notifications/prompts/list_changed"
  | "notifications/tools/list_changed"
  | "notifications/elicitation/complete"

/** A notification of the server. */
export type Notification = {
  readonly [M in Method]: { readonly method: M; readonly params: MethodTable.NotificationParamsOf<M> }
}[Method]

/** The notifications that the program has not read yet, oldest first. */
export class Notifications extends Context.Service<Notifications, Queue.Queue<Notification>>()(
  "@effect-mcp/examples/host/Notifications"
) {}

export const layer: Layer.Layer<Notifications> = Layer.effect(Notifications, Queue.unbounded<Notification>())

const keep = (notification: Notification) =>
  Effect.flatMap(Notifications, (queue) => Effect.asVoid(Queue.offer(queue, notification)))

/** The handlers that add each notification to the queue. */
export const handlers = {
  "notifications/message": (params: MethodTable.NotificationParamsOf<"notifications/message">) =>
    keep({ method: "notifications/message", params }),
  "notifications/resources/updated": (params: MethodTable.NotificationParamsOf<"notifications/resources/updated">) =>
    keep({ method: "notifications/resources/updated", params }),
  "notifications/resources/list_changed": () => keep({ method: "notifications/resources/list_changed", params: {} }),
  "notifications/prompts/list_changed": () => keep({ method: "notifications/prompts/list_changed", params: {} }),
  "notifications/tools/list_changed": () => keep({ method: "notifications/tools/list_changed", params: {} }),
  "notifications/elicitation/complete": (
    params: MethodTable.NotificationParamsOf<"notifications/elicitation/complete">
  ) => keep({ method: "notifications/elicitation/complete", params })
}

type NotificationOf<M extends Method> = Extract<Notification, { readonly method: M }>

/** Returns the next notification of this method, and discards those before it. */
export const next = <M extends Method>(method: M): Effect.Effect<NotificationOf<M>, never, Notifications> => {
  const hasMethod = (notification: Notification): notification is NotificationOf<M> => notification.method === method
  return Effect.gen(function*() {
    const queue = yield* Notifications
    while (true) {
      const notification = yield* Queue.take(queue)
      if (hasMethod(notification)) return notification
    }
  })
}

/**
 * The notifications that a server sends to a host.
 */
import type * as MethodTable from "@effect-mcp/protocol/MethodTable"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Queue from "effect/Queue"

type Name =
  | "notifications/message"
  | "notifications/resources/updated"
  | "notifications/resources/list_changed"
  | "notifications/prompts/list_changed"
  | "notifications/tools/list_changed"
  | "notifications/elicitation/complete"

/** One notification of the server. */
export type Notice = {
  readonly [N in Name]: { readonly method: N; readonly params: MethodTable.NotificationParamsOf<N> }
}[Name]

/** The notifications that the program has not read yet, oldest first. */
export class Notices extends Context.Service<Notices, Queue.Queue<Notice>>()("@effect-mcp/examples/host/Notices") {}

export const layer: Layer.Layer<Notices> = Layer.effect(Notices, Queue.unbounded<Notice>())

const keep = (notice: Notice) => Effect.flatMap(Notices, (notices) => Effect.asVoid(Queue.offer(notices, notice)))

/** Handlers that keep each notification. */
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

type NoticeOf<N extends Name> = Extract<Notice, { readonly method: N }>

/** Returns the next notification of this kind, and discards those before it. */
export const next = <N extends Name>(method: N): Effect.Effect<NoticeOf<N>, never, Notices> => {
  const isWanted = (notice: Notice): notice is NoticeOf<N> => notice.method === method
  return Effect.gen(function*() {
    const notices = yield* Notices
    while (true) {
      const notice = yield* Queue.take(notices)
      if (isWanted(notice)) return notice
    }
  })
}

import { type JsonRpc, type Meta, Methods, type Progress } from "@effect-mcp/protocol"
import * as Effect from "effect/Effect"
import type { SessionEvent } from "../SessionEvent.ts"
import type { Served } from "./Inflight.ts"
import type { Sender } from "./Sender.ts"
import { trust } from "./trust.ts"

/**
 * What a handler of either side sees of the request it serves.
 */
export interface ServedContext {
  readonly id: Served["id"]
  readonly method: string
  readonly meta: Meta.RequestMeta | undefined
  readonly progress: (step: Progress.Progress) => Effect.Effect<void>
}

/**
 * It is closed with its exchange: what comes after the reply is dropped.
 */
export const make = (
  sender: Sender,
  emit: (event: SessionEvent) => void
) =>
(served: Served, request: JsonRpc.Request): ServedContext => {
  const { origin, progressToken } = served
  return {
    id: served.id,
    method: served.method,
    // The params are checked before the handler that may look at this runs.
    meta: trust(request.params?.["_meta"]),
    progress: (step) =>
      Effect.suspend(() => {
        if (progressToken === undefined) return Effect.void
        if (served.ended) return Effect.sync(() => emit({ _tag: "ProgressDropped", reason: "ExchangeEnded" }))
        if (!Number.isFinite(step.progress) || step.progress <= served.highest) {
          return Effect.sync(() => emit({ _tag: "ProgressDropped", reason: "NotIncreasing" }))
        }
        served.highest = step.progress
        return Effect.ignore(
          sender.notify(Methods.notifications["notifications/progress"], { ...step, progressToken }, origin)
        )
      })
  }
}

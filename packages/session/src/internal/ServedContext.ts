import { type JsonRpc, Methods, type Profile } from "@effect-mcp/protocol"
import * as Effect from "effect/Effect"
import type { RequestContext } from "../RequestContext.ts"
import * as RequestError from "../RequestError.ts"
import type { SessionEvent } from "../SessionEvent.ts"
import type { Served } from "./Inflight.ts"
import type { Sender } from "./Sender.ts"
import { trust } from "./trust.ts"

/**
 * What a handler sees of the request it serves. It is closed with its exchange: what comes after the reply is dropped.
 */
export const make = (
  sender: Sender,
  emit: (event: SessionEvent) => void
) =>
(served: Served, request: JsonRpc.Request, profile: Profile.ClientProfile): RequestContext["Service"] => {
  const { origin, progressToken } = served
  return {
    id: served.id,
    method: served.method,
    // The params are checked before the handler that may look at this runs.
    meta: trust(request.params?.["_meta"]),
    profile,
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
      }),
    log: (message) =>
      Effect.suspend(() => {
        const row = Methods.notifications["notifications/message"]
        const dropped = (problem: string) => emit({ _tag: "NotificationIgnored", method: row.name, problem })
        if (served.ended) return Effect.sync(() => dropped("its request has ended"))
        return Effect.catch(sender.notify(row, message, origin), (error) => Effect.sync(() => dropped(error.message)))
      }),
    request: (name, params, options) =>
      Effect.suspend(() => {
        if (served.ended) return Effect.fail(RequestError.make(name, { _tag: "ExchangeEnded" }))
        const row = Methods.requests[name]
        return sender.request(row, params, { ...options, via: origin })
      })
  }
}

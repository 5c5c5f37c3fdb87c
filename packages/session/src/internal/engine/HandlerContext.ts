/** The context of a handler of either side. */

import { type JsonRpc, type Meta, MethodTable, type Profile, type Progress } from "@effect-mcp/protocol"
import * as Effect from "effect/Effect"
import type { ProgressDropReason } from "../../SessionEvent.ts"
import { trust } from "../trust.ts"
import type { IncomingRequest } from "./IncomingRequests.ts"
import type { Sender } from "./Sender.ts"
import type { AnySessionRuntime } from "./SessionRuntime.ts"

/** The session, or the sessionless exchange, of a handler. */
export interface HandlerContextDependencies {
  readonly core: {
    readonly emit: AnySessionRuntime["emit"]
    readonly limits: Pick<AnySessionRuntime["limits"], "progressInterval">
    readonly timer: Pick<AnySessionRuntime["timer"], "now">
  }
  readonly sender: Pick<Sender, "notify" | "request">
}

/**
 * The context of one request. It is closed with its exchange: messages after the reply are dropped. Most handlers use
 * few of its members, so that they are lazy getters.
 */
export class HandlerContext<
  out P extends Profile.Profile,
  out Shared extends HandlerContextDependencies = HandlerContextDependencies
> {
  readonly profile: P
  protected readonly parts: Shared
  protected readonly served: IncomingRequest
  readonly #request: JsonRpc.Request

  constructor(parts: Shared, served: IncomingRequest, request: JsonRpc.Request, profile: P) {
    this.parts = parts
    this.served = served
    this.#request = request
    this.profile = profile
  }

  get id(): IncomingRequest["id"] {
    return this.served.id
  }

  get method(): string {
    return this.served.method
  }

  get meta(): Meta.RequestMeta | undefined {
    // The params are checked before the handler that may look at this runs.
    return trust(this.#request.params?.["_meta"])
  }

  get progress(): (step: Progress.Progress) => Effect.Effect<void> {
    const { parts: { core, sender }, served } = this
    const { origin, progressToken } = served
    const dropped = (reason: ProgressDropReason) => Effect.sync(() => core.emit({ _tag: "ProgressDropped", reason }))
    return (step) =>
      Effect.suspend(() => {
        if (progressToken === undefined) return Effect.void
        if (served.ended) return dropped("ExchangeEnded")
        if (!Number.isFinite(step.progress) || step.progress <= served.highest) return dropped("NotIncreasing")
        served.highest = step.progress
        // JSON cannot carry a number that is not finite. Without a total, the step can still be sent.
        const { total, ...rest } = step
        const said: Progress.Progress = total === undefined || Number.isFinite(total) ? step : rest
        const isLast = said.total !== undefined && said.progress >= said.total
        const now = core.timer.now()
        if (!isLast && now - served.reportedAt < core.limits.progressInterval) return dropped("TooSoon")
        served.reportedAt = now
        return Effect.ignore(
          sender.notify(MethodTable.notifications["notifications/progress"], { ...said, progressToken }, origin)
        )
      })
  }
}

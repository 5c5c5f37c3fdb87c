import { type JsonRpc, type Meta, MethodTable, type Profile, type Progress } from "@effect-mcp/protocol"
import * as Effect from "effect/Effect"
import type { ProgressDropReason } from "../../SessionEvent.ts"
import { trust } from "../trust.ts"
import type { Served } from "./IncomingRequests.ts"
import type { Sender } from "./Sender.ts"
import type { AnyCore } from "./SessionRuntime.ts"

/** What every context of one session has in common. */
export interface Parts {
  readonly core: {
    readonly emit: AnyCore["emit"]
    readonly limits: Pick<AnyCore["limits"], "progressInterval">
    readonly timer: Pick<AnyCore["timer"], "now">
  }
  readonly sender: Pick<Sender, "notify" | "request">
}

/**
 * What a handler of either side sees of the request it serves. It is closed with its exchange: what comes after the reply is
 * dropped. There is one for each request, and most handlers look at little of it, so its members are made when they are looked
 * at.
 */
export class HandlerContext<out P extends Profile.Profile, out Shared extends Parts = Parts> {
  readonly profile: P
  protected readonly parts: Shared
  protected readonly served: Served
  readonly #request: JsonRpc.Request

  constructor(parts: Shared, served: Served, request: JsonRpc.Request, profile: P) {
    this.parts = parts
    this.served = served
    this.#request = request
    this.profile = profile
  }

  get id(): Served["id"] {
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
        // JSON has no word for what is not finite, and to know no total is no reason to be silent.
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

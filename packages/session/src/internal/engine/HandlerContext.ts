/** The context of a handler of either side. */

import { type JsonRpc, type Meta, MethodTable, type Profile, type Progress } from "@effect-mcp/protocol"
import * as Effect from "effect/Effect"
import type { ProgressDropReason } from "../../SessionEvent.ts"
import { trust } from "../trust.ts"
import type { IncomingRequest } from "./IncomingRequests.ts"
import type { Sender } from "./Sender.ts"
import type { AnySessionRuntime } from "./SessionRuntime.ts"

/** The session, or the frame without one, of a handler. */
export interface HandlerContextDependencies {
  readonly runtime: {
    readonly emit: AnySessionRuntime["emit"]
    readonly limits: Pick<AnySessionRuntime["limits"], "maxRequestStateCharacters" | "progressInterval">
    readonly timer: Pick<AnySessionRuntime["timer"], "now">
  }
  readonly sender: Pick<Sender, "notify" | "request">
  /** Distinguishes clients without a principal: their session, or the identity that a frame without one has. */
  readonly source: object | string | undefined
}

/**
 * The context of one request. It ends with its exchange: it drops messages after the reply. Its members are lazy
 * getters, because most handlers use few of them.
 */
export class HandlerContext<
  out P extends Profile.Profile,
  out Shared extends HandlerContextDependencies = HandlerContextDependencies
> {
  readonly profile: P
  protected readonly dependencies: Shared
  protected readonly incoming: IncomingRequest
  readonly #request: JsonRpc.Request

  constructor(dependencies: Shared, incoming: IncomingRequest, request: JsonRpc.Request, profile: P) {
    this.dependencies = dependencies
    this.incoming = incoming
    this.#request = request
    this.profile = profile
  }

  get id(): IncomingRequest["id"] {
    return this.incoming.id
  }

  get method(): string {
    return this.incoming.method
  }

  get source(): HandlerContextDependencies["source"] {
    return this.dependencies.source
  }

  get meta(): Meta.RequestMeta | undefined {
    // The params are checked before the handler runs.
    return trust(this.#request.params?.["_meta"])
  }

  get progress(): (step: Progress.Progress) => Effect.Effect<void> {
    const { dependencies: { runtime, sender }, incoming } = this
    const { method, origin, progressToken } = incoming
    return (step) =>
      Effect.suspend(() => {
        if (progressToken === undefined) return Effect.void
        const dropped = (reason: ProgressDropReason) =>
          Effect.sync(() => runtime.emit({ _tag: "ProgressDropped", method, progressToken, reason }))
        if (incoming.ended) return dropped("ExchangeEnded")
        if (!Number.isFinite(step.progress) || step.progress <= incoming.highest) return dropped("NotIncreasing")
        incoming.highest = step.progress
        // JSON has no infinite numbers. Without such a total, the step can still be sent.
        const { total, ...rest } = step
        const sent: Progress.Progress = total === undefined || Number.isFinite(total) ? step : rest
        const isLast = sent.total !== undefined && sent.progress >= sent.total
        const now = runtime.timer.now()
        if (!isLast && now - incoming.reportedAt < runtime.limits.progressInterval) return dropped("TooSoon")
        incoming.reportedAt = now
        return Effect.ignore(
          sender.notify(MethodTable.notifications["notifications/progress"], { ...sent, progressToken }, origin)
        )
      })
  }
}

/**
 * The matching of progress to pending requests, and the extension of their deadlines.
 *
 * The progress token IS the request id: a lookup of the token in the pending requests finds the request.
 */

import type { Progress } from "@effect-mcp/protocol"
import type { ProgressDropReason, SessionEvent } from "../../SessionEvent.ts"
import type { Exchange, PendingRequests } from "./PendingRequests.ts"

/** The session that sent the requests, or the frame without a session, which sends none. */
export interface ProgressRuntime {
  /** The pending requests of this side. Absent without a session. */
  readonly exchanges?: Pick<PendingRequests, "find" | "followed">
  readonly timer: { now(): number }
  emit(event: SessionEvent): void
}

/** Passes a step of progress to its pending request. Reports a step without one, and a step that is dropped. */
export const match = (
  runtime: ProgressRuntime,
  params: Progress.ProgressParams,
  bytes: number | undefined
): void => {
  const { progressToken } = params
  const exchange = runtime.exchanges?.find(progressToken)
  const dropped = (reason: ProgressDropReason) =>
    runtime.emit({ _tag: "ProgressDropped", method: exchange?.method, progressToken, reason })
  if (exchange?.progress === undefined || exchange.outcome !== "Pending") {
    const taken = runtime.exchanges?.followed(progressToken)?.offer(params, bytes) ?? "UnknownToken"
    return taken === "Taken" ? undefined : dropped(taken)
  }
  const taken = exchange.progress.offer(params, bytes)
  if (taken !== "NotIncreasing") extendDeadline(runtime, exchange)
  if (taken !== "Taken") dropped(taken)
}

/** Restarts the timeout of a request, up to its maximum total timeout, if its caller has set `extendOnProgress`. */
const extendDeadline = (runtime: ProgressRuntime, exchange: Exchange): void => {
  if (exchange.extendsTo === undefined) return
  exchange.deadline = Math.min(runtime.timer.now() + exchange.allowedMillis, exchange.extendsTo)
}

/** The cancellation of the peer's requests. The reply of a cancelled request is dropped here (law 5). */

import type { RequestId } from "@effect-mcp/protocol"
import type { SessionEvent } from "../../SessionEvent.ts"
import type { StreamOrigin } from "../../Transport.ts"
import * as Batch from "./Batch.ts"
import * as IncomingRequests from "./IncomingRequests.ts"

/** The session, or the frame without one, whose requests are cancelled. */
export interface CancellationRuntime {
  readonly inflight: IncomingRequests.IncomingRequests
  readonly replies: {
    /** Ends a message of this origin without a reply. */
    settle(origin: StreamOrigin | undefined): void
  }
  emit(event: SessionEvent): void
}

/**
 * Cancels a request after `notifications/cancelled` of the peer. It has no effect if no such request is in flight, or
 * if the reply has claimed the request already. Calls `acknowledge` when this side has the cancellation for good: at
 * once, or when it is stored, or with `false` if it could not be stored.
 */
export const cancel = (
  runtime: CancellationRuntime,
  id: RequestId.RequestId | undefined,
  reason: string | undefined,
  acknowledge: (isTaken: boolean) => void
): void => {
  const request = id === undefined ? undefined : runtime.inflight.find(id)
  if (request?.storeCancellation !== undefined) {
    return request.storeCancellation((isStored) => {
      if (isStored) claimAndEnd(runtime, request, reason)
      acknowledge(isStored)
    })
  }
  if (request === undefined) runtime.emit({ _tag: "CancelIgnored", id })
  else claimAndEnd(runtime, request, reason)
  acknowledge(true)
}

const claimAndEnd = (
  runtime: CancellationRuntime,
  request: IncomingRequests.IncomingRequest,
  reason: string | undefined
): void => {
  const { id, method } = request
  if (!runtime.inflight.claim(request)) return runtime.emit({ _tag: "CancelIgnored", id })
  runtime.emit({ _tag: "Cancelled", method, id, reason })
  endWithoutReply(runtime, request)
}

/** Cancels the requests of an origin whose stream has no reader left. */
export const abandon = (runtime: CancellationRuntime, origin: StreamOrigin): void => {
  const { inflight } = runtime
  for (const request of inflight.all()) {
    if (Batch.unwrap(request.origin) !== origin || !inflight.claim(request)) continue
    endAbandoned(runtime, request)
  }
}

/** Cancels all requests, because the peer has lost its side of the session. */
export const abandonAll = (runtime: CancellationRuntime): void => {
  const { inflight } = runtime
  for (const request of inflight.all()) {
    if (inflight.claim(request)) endAbandoned(runtime, request)
  }
}

const endAbandoned = (runtime: CancellationRuntime, request: IncomingRequests.IncomingRequest): void => {
  runtime.emit({ _tag: "Abandoned", method: request.method, id: request.id })
  endWithoutReply(runtime, request)
}

/** Interrupts the handler of a claimed request, and ends the request without a reply. */
const endWithoutReply = (runtime: CancellationRuntime, request: IncomingRequests.IncomingRequest): void => {
  IncomingRequests.interrupt(request)
  runtime.replies.settle(request.origin)
}

/**
 * Drops the reply of a handler that has ended, unless the reply has claimed the request. Otherwise another end was
 * first: a cancellation, an abandoned stream, a lack of memory, or the end of the session. Returns whether the reply is
 * dropped.
 */
export const dropReplyUnlessClaimed = (
  inflight: IncomingRequests.IncomingRequests,
  request: IncomingRequests.IncomingRequest,
  claimed: boolean
): boolean => {
  if (claimed) return false
  inflight.release(request)
  return true
}

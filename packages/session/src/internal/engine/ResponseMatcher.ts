/** The matching of responses of the peer to pending requests. */

import type { Handshake, JsonRpc, RequestId } from "@effect-mcp/protocol"
import * as Effect from "effect/Effect"
import type * as Fiber from "effect/Fiber"
import type { SessionEvent } from "../../SessionEvent.ts"
import * as PendingRequests from "./PendingRequests.ts"
import type { RateLimit } from "./RateLimit.ts"

/** The session that sent the requests, or the sessionless exchange, which sends none. */
export interface ResponseRuntime {
  readonly exchanges: Pick<PendingRequests.PendingRequests, "find" | "classify">
  readonly timer: { now(): number }
  /** Bounds the warnings about responses that match no request. */
  readonly unmatchedWarnings: RateLimit
  apply<Tag extends Handshake.EventTag>(event: Handshake.EventOf<Tag>): Handshake.Outcome<unknown, Tag>
  emit(event: SessionEvent): void
  fork<A, E>(effect: Effect.Effect<A, E>): Fiber.Fiber<A, E>
}

const receiveResponse: Handshake.EventOf<"ReceiveResponse"> = { _tag: "ReceiveResponse" }

/** Returns whether a response can complete a request now. */
const isExpected = (runtime: ResponseRuntime): boolean => {
  const outcome = runtime.apply(receiveResponse)
  if (outcome._tag === "RemoteViolation") return false
  switch (outcome.action) {
    case "Match":
      return true
  }
}

const unmatched = (
  runtime: ResponseRuntime,
  kind: "Late" | "Duplicate" | "Unknown" | "NoId",
  message: JsonRpc.Response
): void => {
  runtime.emit({ _tag: "UnmatchedResponse", kind, response: message })
  // The other kinds belong to requests of this side, and occur although the peer makes no mistake.
  if (kind !== "Unknown" || !runtime.unmatchedWarnings.take(runtime.timer.now())) return
  runtime.fork(Effect.logWarning("received a response that matches no request", { id: message.id }))
}

/** Completes the pending request of a response. Reports a response without a pending request. */
export const match = (runtime: ResponseRuntime, message: JsonRpc.Response): void => {
  if (!isExpected(runtime)) return unmatched(runtime, "Unknown", message)
  if (message.id === undefined || message.id === null) return unmatched(runtime, "NoId", message)
  const exchange = runtime.exchanges.find(message.id)
  if (exchange === undefined) return unmatched(runtime, runtime.exchanges.classify(message.id), message)
  // The request has not been sent yet, so this cannot be its response.
  if (!exchange.handed) return unmatched(runtime, "Unknown", message)
  if (!PendingRequests.complete(exchange, message)) {
    unmatched(runtime, exchange.outcome === "Answered" ? "Duplicate" : "Late", message)
  }
}

/** Fails the pending request of a malformed response. Otherwise its caller would wait until the deadline. */
export const matchMalformed = (runtime: ResponseRuntime, id: RequestId.RequestId, problem: string): void => {
  if (!isExpected(runtime)) return
  const exchange = runtime.exchanges.find(id)
  if (exchange?.handed === true) PendingRequests.completeMalformed(exchange, problem)
}

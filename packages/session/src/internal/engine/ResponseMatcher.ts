/** The matching of responses of the peer to pending requests. */

import { type Handshake, type JsonRpc, RequestId } from "@effect-mcp/protocol"
import { Excerpt } from "@effect-mcp/protocol/internal"
import * as Effect from "effect/Effect"
import type * as Fiber from "effect/Fiber"
import type { SessionEvent } from "../../SessionEvent.ts"
import * as PendingRequests from "./PendingRequests.ts"
import type { RateLimit } from "./RateLimit.ts"

/** The session that sent the requests, or the frame without a session, which sends none. */
export interface ResponseRuntime {
  /** The pending requests of this side. Absent without a session. */
  readonly exchanges?: Pick<PendingRequests.PendingRequests, "find" | "classify">
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
  const { id } = message
  // The peer decides the length of the id.
  const shown = typeof id === "string" ? Excerpt.line(id, Excerpt.defaultLength) : id
  runtime.fork(Effect.logWarning("received a response that matches no request", { id: shown }))
}

/**
 * Returns the request that a response belongs to: the one with its id, or else the one whose number the id is the text
 * of. No two requests of a session have the same number, so there is no doubt which one the peer means.
 */
const requestOf = (
  { exchanges }: Pick<ResponseRuntime, "exchanges">,
  id: RequestId.RequestId
): PendingRequests.Exchange | undefined => {
  if (exchanges === undefined) return undefined
  const exact = exchanges.find(id)
  if (exact !== undefined) return exact
  const number = RequestId.numberIn(id)
  return number === undefined ? undefined : exchanges.find(number)
}

/** Classifies a response to no pending request. */
const kindOf = ({ exchanges }: ResponseRuntime, id: RequestId.RequestId): "Late" | "Duplicate" | "Unknown" =>
  exchanges?.classify(RequestId.numberIn(id) ?? id) ?? "Unknown"

/** Returns the method of the pending request that a response belongs to. */
export const methodOf = (
  runtime: Pick<ResponseRuntime, "exchanges">,
  { id }: JsonRpc.Response
): string | undefined => id === undefined || id === null ? undefined : requestOf(runtime, id)?.method

/** Completes a request with a response whose id is the text of its number, and reports that. */
const completeTolerated = (
  runtime: ResponseRuntime,
  exchange: PendingRequests.Exchange,
  message: JsonRpc.Response
): boolean => {
  const { id, method } = exchange
  if (exchange.outcome === "Pending") {
    const problem = `the id of the response is ${JSON.stringify(message.id)}, and that of the request ${id}`
    runtime.emit({ _tag: "Tolerated", method, problem })
  }
  return PendingRequests.complete(exchange, message)
}

/**
 * Completes the pending request of a response. Reports a response without a pending request. Calls `acknowledge` when
 * this side has the response for good: at once, or when it is stored, or with `false` if it could not be stored.
 */
export const match = (
  runtime: ResponseRuntime,
  message: JsonRpc.Response,
  acknowledge: (isTaken: boolean) => void
): void => {
  const exchange = expectedBy(runtime, message)
  if (typeof exchange === "string") unmatched(runtime, exchange, message)
  else if (exchange.movable === undefined || exchange.outcome !== "Pending") complete(runtime, exchange, message)
  else {
    return exchange.movable.onAnswer(message, (isStored) => {
      // The same response may have been sent twice.
      if (isStored && exchange.outcome === "Pending") complete(runtime, exchange, message)
      acknowledge(isStored)
    })
  }
  acknowledge(true)
}

/** Returns whether a response is stored before it is acknowledged. */
export const isStoredFirst = (runtime: Pick<ResponseRuntime, "exchanges">, { id }: JsonRpc.Response): boolean => {
  const exchange = id === undefined || id === null ? undefined : requestOf(runtime, id)
  return exchange?.movable !== undefined && exchange.outcome === "Pending"
}

/** Returns the request that a response can complete now, or the reason why there is none. */
const expectedBy = (
  runtime: ResponseRuntime,
  { id }: JsonRpc.Response
): PendingRequests.Exchange | "Late" | "Duplicate" | "Unknown" | "NoId" => {
  if (!isExpected(runtime)) return "Unknown"
  // Such an error is about any message of this side, or none, so it ends no request.
  if (id === undefined || id === null) return "NoId"
  const exchange = requestOf(runtime, id)
  if (exchange === undefined) return kindOf(runtime, id)
  // A request that has not been sent yet cannot have a response.
  return exchange.handed ? exchange : "Unknown"
}

const complete = (runtime: ResponseRuntime, exchange: PendingRequests.Exchange, message: JsonRpc.Response): void => {
  const completed = exchange.id === message.id
    ? PendingRequests.complete(exchange, message)
    : completeTolerated(runtime, exchange, message)
  if (!completed) unmatched(runtime, exchange.outcome === "Answered" ? "Duplicate" : "Late", message)
}

/** Returns whether a response has a request of this side, answered or not. */
export const isKnown = (runtime: Pick<ResponseRuntime, "exchanges">, { id }: JsonRpc.Response): boolean =>
  id === undefined || id === null || requestOf(runtime, id) !== undefined

/**
 * Fails the pending request of a malformed response. Otherwise its caller would wait until the deadline. A question
 * whose answer is stored waits on: the peer learns that its response was malformed, and may answer again.
 */
export const matchMalformed = (runtime: ResponseRuntime, id: RequestId.RequestId, problem: string): void => {
  if (!isExpected(runtime)) return
  const exchange = requestOf(runtime, id)
  if (exchange?.handed !== true || exchange.movable !== undefined) return
  PendingRequests.completeMalformed(exchange, problem)
}

/**
 * The policy for a request that got no result: may it be sent again?
 *
 * Sessions, transports and supervised clients use it, so that none of them runs a tool twice.
 */

import { McpError } from "@effect-mcp/protocol"
import type * as RequestError from "../../RequestError.ts"
import type { TransportError } from "../../TransportError.ts"

/**
 * The knowledge of a request without a result. `Unsent`: the peer has not carried it out, and another attempt may reach
 * the peer. `Unknown`: the peer may have carried it out. `Final`: sending it again would not help.
 */
export type Outcome = "Unsent" | "Unknown" | "Final"

/** A request without a result. */
export interface Attempted {
  readonly outcome: Outcome
  /** Whether the peer may carry it out twice: it only reads, or the program says so. */
  readonly isRepeatable: boolean
  /** The number of times that it was sent again although its outcome was unknown. */
  readonly repetitions: number
  /** The largest number of those. Default: 1. */
  readonly maxRepetitions?: number
}

/**
 * Returns whether a request may be sent again. One that the peer has not carried out may, as often as the caller has
 * time. One whose outcome is unknown may only if it is repeatable, and only a few times: a peer that ends at each
 * request would be started for ever.
 */
export const allows = ({ isRepeatable, maxRepetitions = 1, outcome, repetitions }: Attempted): boolean =>
  outcome === "Unsent" || (outcome === "Unknown" && isRepeatable && repetitions < maxRepetitions)

/** The requests that change nothing at their receiver. A request with another name may have an effect. */
const readingMethods: ReadonlySet<string> = new Set([
  "ping",
  "tools/list",
  "resources/list",
  "resources/templates/list",
  "resources/read",
  "prompts/list",
  "prompts/get",
  "completion/complete",
  "tasks/get",
  "tasks/list"
])

/** Returns whether the requests of a method only read, so that the peer may carry them out twice. */
export const isReading = (method: string): boolean => readingMethods.has(method)

/** The statuses with which a server, or the gateway before it, rejects a message for now: it has not carried it out. */
const passingStatuses: ReadonlySet<number> = new Set([429, 503])

/** Returns whether another attempt may send a message that this error kept from being sent. */
const isPassing = ({ reason }: TransportError): boolean => {
  switch (reason._tag) {
    case "Rejected":
      return passingStatuses.has(reason.status)
    case "Unserializable":
    case "InvalidHeader":
    case "Unauthenticated":
    case "AuthorizationFailed":
      return false
    default:
      return true
  }
}

/** Returns the outcome of the request that failed with this error. */
export const outcomeOf = ({ reason }: RequestError.RequestError): Outcome => {
  switch (reason._tag) {
    case "SendFailed":
      return isPassing(reason.error) ? "Unsent" : "Final"
    case "Closed":
      return reason.isSent ? "Unknown" : "Unsent"
    case "WrongState":
      // The session has begun to end.
      return "Unsent"
    case "OutcomeUnknown":
      return "Unknown"
    default:
      return "Final"
  }
}

/** Returns whether the exchange of a request was lost while the session that sent it stays open. */
export const isExchangeLost = ({ reason }: RequestError.RequestError): boolean => reason._tag === "OutcomeUnknown"

/** Returns whether a request failed because the stream of its response was lost. */
export const isStreamLost = ({ reason }: RequestError.RequestError): boolean =>
  reason._tag === "OutcomeUnknown" && reason.error.reason._tag === "ExchangeEnded" &&
  reason.error.reason.isStreamLost === true

/** Returns whether the peer itself replied that the outcome of a request is unknown: the session goes on. */
export const isReportedUnknown = ({ reason }: RequestError.RequestError): boolean =>
  reason._tag === "OutcomeUnknown" && reason.error.reason._tag === "ExchangeEnded" &&
  reason.error.reason.cause instanceof McpError.McpError

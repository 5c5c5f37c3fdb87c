/** The calls of a supervised client: they wait for a session, and are sent again where that is safe. */

import type { CloseReason } from "@effect-mcp/protocol"
import type * as ClientSession from "@effect-mcp/session/ClientSession"
import * as RequestError from "@effect-mcp/session/RequestError"
import * as TransportError from "@effect-mcp/session/TransportError"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import type { ServerUnavailable } from "../../ServerUnavailable.ts"
import type { StatusBoard } from "./StatusBoard.ts"

type Session = ClientSession.ClientSessionShape

/**
 * The number of times that one call is sent again although its outcome is unknown. A server that ends at each call
 * would be started for ever.
 */
const maxRepetitions = 3

/** The pauses before a call is sent again in the same session, in milliseconds. They double from time to time. */
const pause = { first: 100, longest: 2_000 }

/** The statuses with which a gateway answers for a server that is down. The server has not seen the message. */
const passingStatuses: ReadonlySet<number> = new Set([429, 502, 503, 504])

/** Returns whether another attempt may send a message that this error kept from being sent. */
const isPassing = ({ reason }: TransportError.TransportError): boolean => {
  switch (reason._tag) {
    case "Rejected":
      return passingStatuses.has(reason.status)
    case "Unserializable":
    case "InvalidHeader":
    case "Unauthenticated":
      return false
    default:
      return true
  }
}

/** The knowledge of whether a server has carried out a call that failed. */
export type Outcome = "Unsent" | "Unknown" | "Final"

/** Returns what an error says about the outcome of its request. `Final`: sending it again would not help. */
export const outcomeOf = ({ reason }: RequestError.RequestError): Outcome => {
  switch (reason._tag) {
    case "SendFailed":
      return isPassing(reason.error) ? "Unsent" : "Final"
    case "Closed":
      return reason.isSent ? "Unknown" : "Unsent"
    case "NotAllowed":
      // The session has begun to end.
      return "Unsent"
    case "OutcomeUnknown":
      return "Unknown"
    default:
      return "Final"
  }
}

const lost = (reason: CloseReason.CloseReason): TransportError.TransportError =>
  TransportError.make(
    reason._tag === "PeerEnded" ? { _tag: "PeerEnded", exit: reason.exit } : { _tag: "ExchangeEnded", cause: reason }
  )

/** Returns the error of a call that is not sent again: a session that has ended leaves its outcome unknown. */
const finalError = (error: RequestError.RequestError): RequestError.RequestError => {
  const { method, reason } = error
  return reason._tag === "Closed" && reason.isSent
    ? RequestError.make(method, { _tag: "OutcomeUnknown", error: lost(reason.reason) })
    : error
}

/** Options of one call. */
export interface CallOptions {
  /** The time that the call waits for a server that is down, all of its waits together. */
  readonly waitFor: Duration.Input
  /** Whether the call may be sent again although its outcome is unknown. */
  readonly isRepeatable: Effect.Effect<boolean>
}

/** Waits for a session. */
export const session = (board: StatusBoard, waitFor: Duration.Input): Effect.Effect<Session, ServerUnavailable> =>
  Effect.clockWith((clock) => board.ready(clock.currentTimeMillisUnsafe(), Duration.toMillis(waitFor)))

/** Sends a call in the present session, or in the next one. */
export const send = <A, R>(
  board: StatusBoard,
  { isRepeatable, waitFor }: CallOptions,
  call: (session: Session) => Effect.Effect<A, RequestError.RequestError, R>
): Effect.Effect<A, RequestError.RequestError | ServerUnavailable, R> =>
  Effect.clockWith((clock) => {
    const now = () => clock.currentTimeMillisUnsafe()
    const totalMillis = Duration.toMillis(waitFor)
    const since = now()
    const left = () => Math.max(since + totalMillis - now(), 0)
    /**
     * Sends the call after as many pauses, and as many repetitions. `lost` is the error after which the server may have
     * carried it out: a call that cannot be repeated then fails with it.
     */
    const attempt = (
      pauses: number,
      repetitions: number,
      lost?: RequestError.RequestError
    ): Effect.Effect<A, RequestError.RequestError | ServerUnavailable, R> =>
      Effect.flatMap(
        Effect.mapError(board.ready(since, totalMillis), (error) => lost ?? error),
        (session) =>
          Effect.catchTag(call(session), "RequestError", (error) => {
            const outcome = outcomeOf(error)
            if (outcome === "Final") return Effect.fail(error)
            const last = outcome === "Unknown" ? finalError(error) : lost
            const again = (repeated: number) =>
              // A session that has ended has a successor later. Over HTTP, the session stays while its server is down.
              board.session === session
                ? Effect.andThen(
                  Effect.sleep(Math.min(pause.first * 2 ** pauses, pause.longest, left())),
                  attempt(pauses + 1, repeated, last)
                )
                : attempt(pauses, repeated, last)
            if (left() === 0) return Effect.fail(last ?? error)
            if (outcome === "Unsent") return again(repetitions)
            if (repetitions >= maxRepetitions) return Effect.fail(last ?? error)
            return Effect.flatMap(
              Effect.timeoutOrElse(isRepeatable, { duration: left(), orElse: () => Effect.succeed(false) }),
              (is) => is ? again(repetitions + 1) : Effect.fail(last ?? error)
            )
          })
      )
    return attempt(0, 0)
  })

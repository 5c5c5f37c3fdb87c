/** The calls of a supervised client: they wait for a session, and are sent again where that is safe. */

import type { CloseReason } from "@effect-mcp/protocol"
import type * as ClientSession from "@effect-mcp/session/ClientSession"
import { ResendPolicy } from "@effect-mcp/session/internalEngine"
import * as RequestError from "@effect-mcp/session/RequestError"
import * as TransportError from "@effect-mcp/session/TransportError"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import type { ServerUnavailableError } from "../../ServerUnavailableError.ts"
import type { CallsInFlight } from "./CallsInFlight.ts"
import type { StatusBoard } from "./StatusBoard.ts"
import { WaitingTime } from "./WaitingTime.ts"

type Session = ClientSession.ClientSessionShape

/**
 * The number of times that one call is sent again although its outcome is unknown. A server that ends at each call
 * would be started for ever.
 */
const maxRepetitions = 3

/** The pauses before a call is sent again in the same session, in milliseconds. They double from time to time. */
const pause = { first: 100, longest: 2_000 }

/** Returns whether a request could not connect to the server. */
const isConnectFailure = ({ reason }: RequestError.RequestError): boolean =>
  reason._tag === "SendFailed" && reason.error.reason._tag === "ConnectFailed"

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

/** Returns whether an error shows that the server has answered. */
export const isAnswer = ({ reason }: RequestError.RequestError): boolean =>
  reason._tag === "ErrorResponse" || reason._tag === "InvalidResult" || reason._tag === "MalformedResponse" ||
  reason._tag === "QuestionFailed" || reason._tag === "InputRequired"

/** Returns whether a person has to authorize the client. The session has waited for that as long as the call may. */
export const awaitsPerson = ({ reason }: RequestError.RequestError): boolean =>
  reason._tag === "SendFailed" && reason.error.reason._tag === "AuthorizationRequired"

/** Options of one call. */
export interface CallOptions<E> {
  /** The time that the call waits for a server that is down, all of its waits together. */
  readonly waitTimeout: Duration.Input
  /** Whether a call that was lost with a session may be sent again although its outcome is unknown. */
  readonly isRepeatable: (lost: Session) => Effect.Effect<boolean>
  /** Runs before each attempt, after the session is there. If it fails, the call is not sent, or not again. */
  readonly before: Effect.Effect<void, E>
}

/** The calls of one client. */
export class Calls {
  readonly #board: StatusBoard
  readonly #inFlight: CallsInFlight
  readonly #onLoss: () => void

  /** `onLoss` is called after a message was lost in a session that stays, because the server may be another one now. */
  constructor(board: StatusBoard, inFlight: CallsInFlight, onLoss: () => void) {
    this.#board = board
    this.#inFlight = inFlight
    this.#onLoss = onLoss
  }

  /** Waits for a session. */
  session(waitTimeout: Duration.Input): Effect.Effect<Session, ServerUnavailableError> {
    return Effect.suspend(() => this.#board.ready(new WaitingTime(Duration.toMillis(waitTimeout))))
  }

  /** Sends a call in the present session, or in the next one. */
  send<A, E, R>(
    { before, isRepeatable, waitTimeout }: CallOptions<E>,
    call: (session: Session) => Effect.Effect<A, RequestError.RequestError, R>
  ): Effect.Effect<A, RequestError.RequestError | ServerUnavailableError | E, R> {
    return Effect.clockWith((clock) => {
      const time = new WaitingTime(Duration.toMillis(waitTimeout))
      /**
       * Sends the call after as many pauses, and as many repetitions. `lost` is the error after which the server may
       * have carried it out: a call that cannot be repeated then fails with it.
       */
      const attempt = (
        pauses: number,
        repetitions: number,
        lost?: RequestError.RequestError
      ): Effect.Effect<A, RequestError.RequestError | ServerUnavailableError | E, R> =>
        Effect.flatMap(
          Effect.mapError(Effect.tap(this.#board.ready(time), before), (error) => lost ?? error),
          (session) => {
            const since = clock.currentTimeMillisUnsafe()
            return Effect.catchTag(this.#inFlight.track(call(session), isAnswer), "RequestError", (error) => {
              const outcome = ResendPolicy.outcomeOf(error)
              if (outcome === "Final" || awaitsPerson(error)) return Effect.fail(error)
              if (pauses === 0 && this.#board.session === session) this.#onLoss()
              // An attempt to send it is a part of the wait for the server.
              if (outcome === "Unsent") time.spend(clock.currentTimeMillisUnsafe() - since)
              const last = outcome === "Unknown" ? finalError(error) : lost
              const again = (repeated: number) =>
                // A session that has ended has a successor later. Over HTTP, a session stays while its server is down.
                this.#board.session === session
                  ? Effect.andThen(
                    time.during(this.#board.pause(Math.min(pause.first * 2 ** pauses, pause.longest, time.leftMillis))),
                    attempt(pauses + 1, repeated, last)
                  )
                  : attempt(pauses, repeated, last)
              if (time.leftMillis === 0) {
                return Effect.fail(last ?? (isConnectFailure(error) ? this.#board.unreachable(error, time) : error))
              }
              if (outcome === "Unsent") return again(repetitions)
              const mayRepeat = (isRepeatable: boolean) =>
                ResendPolicy.allows({ outcome, isRepeatable, repetitions, maxRepetitions })
              // Asking whether a tool is repeatable may take a request.
              if (!mayRepeat(true)) return Effect.fail(last ?? error)
              return Effect.flatMap(
                time.during(
                  Effect.timeoutOrElse(isRepeatable(session), {
                    duration: time.leftMillis,
                    orElse: () => Effect.succeed(false)
                  })
                ),
                (isRepeatable) => mayRepeat(isRepeatable) ? again(repetitions + 1) : Effect.fail(last ?? error)
              )
            })
          }
        )
      return attempt(0, 0)
    })
  }
}

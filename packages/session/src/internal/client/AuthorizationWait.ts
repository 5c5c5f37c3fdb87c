/** The wait for a person who has to authorize the client. */

import type { CloseReason } from "@effect-mcp/protocol"
import * as Deferred from "effect/Deferred"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type { HandshakeError } from "../../HandshakeError.ts"
import * as RequestError from "../../RequestError.ts"
import type { SessionEvent } from "../../SessionEvent.ts"
import * as TransportError from "../../TransportError.ts"
import type { AttemptLayer } from "../engine/Layers.ts"
import type { Call, Send } from "../engine/RequestSender.ts"
import * as ContainedAuthorization from "./ContainedAuthorization.ts"

/** The reason of an error that a person has to act. */
export type Required = TransportError.AuthorizationRequired

/**
 * The number of times that a call, or a connection, waits for a person. Without a bound, an authorization that is
 * useless although it completes would be asked without a pause.
 */
export const maxWaits = 8

const requiredIn = (error: unknown): Required | undefined =>
  error instanceof TransportError.TransportError && error.reason._tag === "AuthorizationRequired"
    ? error.reason
    : undefined

/** Returns the reason if a request was not carried out because a person has to act. */
const requiredBy = ({ reason }: RequestError.RequestError): Required | undefined =>
  reason._tag === "SendFailed" ? requiredIn(reason.error) : undefined

/** Returns the reason if a handshake failed because a person has to act. */
export const requiredByHandshake = ({ reason }: HandshakeError): Required | undefined => {
  if (reason._tag === "ConnectFailed") return requiredIn(reason.error)
  return reason._tag === "Closed" && reason.reason._tag === "TransportFailed"
    ? requiredIn(reason.reason.cause)
    : undefined
}

/** Returns the event of a wait. */
export const eventOf = ({ code, isQueued, since, url }: Required): SessionEvent => ({
  _tag: "AuthorizationAwaited",
  url,
  code,
  since,
  ...isQueued === true ? { isQueued } : undefined
})

/** Waits for the person, and reports each state of the authorization meanwhile. */
export const authorized = (
  required: Required,
  report: (state: Required) => Effect.Effect<void>
): Effect.Effect<void, TransportError.TransportError> => {
  const following = (state: Required): Effect.Effect<never> =>
    Effect.andThen(report(state), state.changed === undefined ? Effect.never : Effect.flatMap(state.changed, following))
  const contained = ContainedAuthorization.of(required, TransportError.make)
  return Effect.raceFirst(contained.authorized, following(contained))
}

/** The session whose calls wait. */
export interface WaitingRuntime {
  readonly timer: { now(): number }
  readonly emit: (event: SessionEvent) => void
}

/** The waits of the calls of one session. */
export class AuthorizationWait {
  readonly #runtime: WaitingRuntime
  readonly #ended = Deferred.makeUnsafe<CloseReason.CloseReason>()
  /** The last event. Several calls may wait for the same authorization. */
  #reported = ""

  constructor(runtime: WaitingRuntime) {
    this.#runtime = runtime
  }

  /** Fails the calls that wait, because the session ends. */
  end(reason: CloseReason.CloseReason): void {
    Deferred.doneUnsafe(this.#ended, Exit.succeed(reason))
  }

  /**
   * Waits while a person has to act, within the deadline of the call, and sends the request again: a server that
   * rejects the authorization of a request has not carried it out. At the deadline the call fails with the state of the
   * authorization at that time.
   */
  readonly layer: AttemptLayer = (send) => (call) => this.#attempt(send, call, 0)

  #attempt<R>(send: Send, call: Call<R>, waits: number): ReturnType<typeof send<R>> {
    return Effect.catch(send(call), (error) => {
      const required = requiredBy(error)
      if (required === undefined || waits >= maxWaits) return Effect.fail(error)
      return Effect.andThen(
        this.#authorized(call, required),
        // Its first attempt has left the queue of those that wait for the peer.
        Effect.suspend(() => this.#attempt(send, { ...call, isHeld: false }, waits + 1))
      )
    })
  }

  #report(state: Required): void {
    const event = eventOf(state)
    // All errors of one authorization have the time since when it waits.
    const text = JSON.stringify(event)
    if (this.#reported !== text) this.#runtime.emit(event)
    this.#reported = text
  }

  #authorized(
    { deadline, row: { name } }: Call<unknown>,
    required: Required
  ): Effect.Effect<void, RequestError.RequestError> {
    return Effect.suspend(() => {
      const failed = (error: TransportError.TransportError) => RequestError.make(name, { _tag: "SendFailed", error })
      let latest = required
      const report = (state: Required) =>
        Effect.sync(() => {
          latest = state
          this.#report(state)
        })
      const waiting = Effect.mapError(authorized(required, report), failed)
      const closed = Effect.flatMap(
        Deferred.await(this.#ended),
        (reason) => Effect.fail(RequestError.make(name, { _tag: "Closed", reason, isSent: false }))
      )
      const open = Effect.raceFirst(waiting, closed)
      if (deadline.at === Number.POSITIVE_INFINITY) return open
      return Effect.timeoutOrElse(open, {
        duration: Duration.millis(Math.max(deadline.at - this.#runtime.timer.now(), 0)),
        orElse: () => Effect.fail(failed(TransportError.make(latest)))
      })
    })
  }
}

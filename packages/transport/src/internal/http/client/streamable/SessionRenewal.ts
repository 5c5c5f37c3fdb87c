/** The renewal of a session that the server has lost: a new handshake, with the same `initialize` (SHS-27). */
import { JsonRpc } from "@effect-mcp/protocol"
import type { Inbound } from "@effect-mcp/session/Transport"
import * as TransportError from "@effect-mcp/session/TransportError"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Predicate from "effect/Predicate"
import * as Result from "effect/Result"
import type * as Scope from "effect/Scope"
import { encoded } from "../../../shared/OutgoingFrame.ts"
import * as HttpCall from "../HttpCall.ts"
import * as HttpErrorResponse from "../HttpErrorResponse.ts"
import * as ResponseBody from "../ResponseBody.ts"
import { responseIn } from "../responseIn.ts"
import { type ClientState, millisNow, type Renewal, type SessionIdentity, sessionIdentity } from "./ClientState.ts"
import { exchangeEnded, readJson, ResponseReader, unexpectedResponse } from "./ResponseReader.ts"
import * as SessionCleanup from "./SessionCleanup.ts"

/**
 * The texts with which servers answer 400 instead of 404 for a session that they do not know: the servers of the
 * official examples, and the transport of the official SDKs before its first handshake. Without this, each later call
 * of a supervised client fails; found by `supervisedEverything.test.ts`.
 */
const lossTexts = /no valid session id|server not initialized/i

/** Returns whether this rejection indicates that the server has lost the session (SHS-26). */
export const indicatesLoss = (
  { status, text }: Pick<HttpErrorResponse.HttpErrorResponse, "status" | "text">,
  session: SessionIdentity
): boolean => session.id !== undefined && (status === 404 || (status === 400 && lossTexts.test(text)))

/** Opens a session instead of a lost one, and waits for it. However many callers there are, it opens one. */
export type Renew = (lost: SessionIdentity) => Effect.Effect<void, TransportError.TransportError>

/** The time that a renewal may take. It does not wait for a person who has to authorize the client. */
const renewalTimeout = "30 seconds"

const peerEnded = TransportError.make({ _tag: "PeerEnded", exit: undefined })

/** Returns whether an error states by itself why there is no new session. */
const isFinal = ({ reason }: TransportError.TransportError): boolean =>
  reason._tag === "SessionLost" || reason._tag === "AuthorizationRequired" || reason._tag === "AuthorizationFailed"

/** Returns whether a renewal failed because a person has to authorize the client. */
const awaitsPerson = (exit: Exit.Exit<void, TransportError.TransportError>): boolean => {
  const error = Exit.findError(exit)
  return Result.isSuccess(error) && error.success.reason._tag === "AuthorizationRequired"
}

const sessionLost = (problem: string): TransportError.TransportError =>
  TransportError.make({ _tag: "SessionLost", problem })

/**
 * The back-off of renewals. Without a bound, a server that loses its sessions at once would receive requests as fast as
 * it answers them, and keep a session for each.
 */
export class RenewalBackOff {
  readonly #state: ClientState
  readonly #sessions: SessionCleanup.SessionCleanup
  /** The number of useless renewed sessions in a row. */
  #useless = 0
  /** The session that was counted last: several renewals follow a loss if a person has to authorize the client. */
  #counted: SessionIdentity | undefined

  constructor(state: ClientState, sessions: SessionCleanup.SessionCleanup) {
    this.#state = state
    this.#sessions = sessions
  }

  /** Drops a lost session, and waits until another one may be opened. Fails after too many useless sessions. */
  wait(lost: SessionIdentity): Effect.Effect<void, TransportError.TransportError> {
    return Effect.gen({ self: this }, function*() {
      const { reconnect } = this.#state.settings
      if (this.#counted !== lost) yield* this.#count(lost)
      this.#counted = lost
      if (this.#useless >= reconnect.maxRenewals) {
        return yield* sessionLost(`${this.#useless} new ones in a row were lost before a request was answered in them`)
      }
      if (this.#useless > 0) yield* Effect.sleep(yield* reconnect.renewalMillis(this.#useless))
    })
  }

  #count({ answered, id, isRenewed, openedAt }: SessionIdentity): Effect.Effect<void> {
    return Effect.gen({ self: this }, function*() {
      const wasUseful = answered || (yield* millisNow) - openedAt >= this.#state.settings.reconnect.maxMillis
      if (wasUseful) this.#useless = 0
      else if (isRenewed) this.#useless++
      if (id === undefined) return
      // In a server of several processes, the wrong one may have answered, and another one may still hold the session.
      if (isRenewed && !wasUseful) yield* this.#sessions.abandon(id)
      else this.#sessions.forget(id)
    })
  }
}

/** Returns the revision in the result of an `initialize` response, if there is one. */
const revisionIn = (response: object | undefined): string | undefined =>
  Predicate.hasProperty(response, "result") && Predicate.hasProperty(response.result, "protocolVersion") &&
    typeof response.result.protocolVersion === "string"
    ? response.result.protocolVersion
    : undefined

export class SessionRenewal {
  readonly #state: ClientState
  readonly #sessions: SessionCleanup.SessionCleanup
  readonly #backOff: RenewalBackOff
  readonly #scope: Scope.Scope
  readonly #onRenewed: Effect.Effect<void>
  #count = 0

  /** Renewals run in the scope. Each that succeeds runs `onRenewed`. */
  constructor(
    state: ClientState,
    sessions: SessionCleanup.SessionCleanup,
    scope: Scope.Scope,
    onRenewed: Effect.Effect<void>
  ) {
    this.#state = state
    this.#sessions = sessions
    this.#backOff = new RenewalBackOff(state, sessions)
    this.#scope = scope
    this.#onRenewed = onRenewed
  }

  readonly renew: Renew = (lost) =>
    // Registering the renewal and starting it are one step. Its caller may be interrupted while it waits.
    Effect.uninterruptibleMask((restore) => {
      const state = this.#state
      if (state.renewal?.lost === lost) return restore(Deferred.await(state.renewal.done))
      if (state.session !== lost) return restore(state.ready)
      const renewal: Renewal = { lost, done: Deferred.makeUnsafe() }
      state.renewal = renewal
      const renewing = Effect.andThen(this.#backOff.wait(lost), this.#reopenInTime).pipe(
        Effect.onExit((exit) => Effect.sync(() => this.#finish(renewal, exit))),
        Effect.andThen(this.#onRenewed)
      )
      return Effect.andThen(
        Effect.forkIn(Effect.interruptible(Effect.ignore(renewing)), this.#scope),
        restore(Deferred.await(renewal.done))
      )
    })

  #finish({ done }: Renewal, exit: Exit.Exit<void, TransportError.TransportError>): void {
    if (Exit.isSuccess(exit)) {
      this.#state.renewal = undefined
      this.#state.report({ _tag: "SessionRenewed" })
      Deferred.doneUnsafe(done, Exit.void)
    } else if (Exit.hasInterrupts(exit)) Deferred.doneUnsafe(done, Exit.fail(peerEnded))
    else if (awaitsPerson(exit)) {
      // The callers wait for the person, each within its own deadline, and then begin the next renewal.
      this.#state.renewal = undefined
      Deferred.doneUnsafe(done, exit)
    } else {
      Deferred.doneUnsafe(done, exit)
      this.#state.fail(exit.cause)
    }
  }

  get #reopenInTime(): Effect.Effect<void, TransportError.TransportError> {
    return Effect.suspend(() => Effect.scoped(this.#reopen)).pipe(
      Effect.timeoutOrElse({
        duration: renewalTimeout,
        orElse: () => Effect.fail(sessionLost("a new one could not be opened in time"))
      })
    )
  }

  get #reopen(): Effect.Effect<void, TransportError.TransportError, Scope.Scope> {
    return Effect.gen({ self: this }, function*() {
      const { initializeRequest, revision } = this.#state
      if (initializeRequest === undefined || revision === undefined) {
        return yield* sessionLost("it was lost in the handshake")
      }
      const session = yield* this.#handshake(initializeRequest, revision).pipe(
        Effect.mapError((error) =>
          isFinal(error)
            ? error
            : sessionLost(`a new one could not be opened: ${error.message}`)
        )
      )
      this.#state.session = session
    })
  }

  /** Opens a session of this revision, with a request id that the program never sees. */
  #handshake(
    initializeRequest: JsonRpc.Request,
    revision: string
  ): Effect.Effect<SessionIdentity, TransportError.TransportError, Scope.Scope> {
    return Effect.gen({ self: this }, function*() {
      const { endpoint } = this.#state
      const id = `renew-${++this.#count}`
      const json = yield* encoded({ ...initializeRequest, id })
      endpoint.resetRedirects()
      const outside = { session: undefined, revision: undefined }
      const response = yield* endpoint.post(json, outside, this.#sessions.completeInBackground)
      if (!HttpCall.isAccepted(response)) return yield* HttpErrorResponse.fail(response)
      const session = yield* sessionIdentity(SessionCleanup.sessionOf(response), true)
      const negotiated = revisionIn(yield* this.#readResponse(response, id))
      if (negotiated !== revision) {
        return yield* sessionLost(
          negotiated === undefined
            ? "a new one was rejected"
            : `a new one would be of revision ${negotiated}, not ${revision}`
        )
      }
      const initialized = yield* encoded(JsonRpc.notification("notifications/initialized"))
      const accepted = yield* endpoint.post(initialized, this.#state.membership(session))
      if (!HttpCall.isAccepted(accepted)) return yield* HttpErrorResponse.fail(accepted)
      yield* ResponseBody.discard(accepted)
      return session
    })
  }

  /** Returns the response with this id, and delivers everything else that the HTTP response contains. */
  #readResponse(
    httpResponse: HttpCall.HttpResponse,
    id: string
  ): Effect.Effect<object | undefined, TransportError.TransportError> {
    return Effect.gen({ self: this }, function*() {
      const { settings } = this.#state
      let response: object | undefined
      const take = (inbound: Inbound) => {
        const found = Result.isSuccess(inbound.frame) ? responseIn(inbound.frame.success, id) : undefined
        if (found === undefined) this.#state.deliver(inbound)
        else response = found
      }
      const type = HttpCall.mediaType(httpResponse)
      if (type === "application/json") yield* readJson(httpResponse, settings, take)
      else if (type === "text/event-stream") {
        const cause = yield* new ResponseReader(id, settings, take).follow(httpResponse)
        if (response === undefined) return yield* exchangeEnded(cause)
      } else return yield* unexpectedResponse(httpResponse)
      return response
    })
  }
}

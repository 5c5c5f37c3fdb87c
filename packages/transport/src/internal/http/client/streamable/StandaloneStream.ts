/** The standalone SSE stream, on which messages arrive that belong to no request (SHS-12). */
import * as Effect from "effect/Effect"
import type * as Fiber from "effect/Fiber"
import * as Result from "effect/Result"
import type * as Scope from "effect/Scope"
import * as SseReceiver from "../SseReceiver.ts"
import { type ClientState, millisNow, type SessionIdentity } from "./ClientState.ts"
import { resumptionHeaders } from "./ResumableStream.ts"
import type { Renew } from "./SessionRenewal.ts"
import * as StreamRequest from "./StreamRequest.ts"

export class StandaloneStream {
  readonly #state: ClientState
  readonly #renew: Renew
  readonly #scope: Scope.Scope
  #fiber: Fiber.Fiber<void> | undefined
  /** Whether the server has opened such a stream, in this session or an earlier one. */
  #isOffered = false

  /** Streams end with the scope at the latest. */
  constructor(state: ClientState, renew: Renew, scope: Scope.Scope) {
    this.#state = state
    this.#renew = renew
    this.#scope = scope
  }

  /** Opens the stream of the current session in the background, instead of that of an earlier session. */
  readonly start: Effect.Effect<void> = Effect.suspend(() => {
    const earlier = this.#fiber
    this.#fiber = undefined
    earlier?.interruptUnsafe()
    return Effect.map(Effect.forkIn(this.#keepOpen(this.#state.session), this.#scope), (fiber) => {
      this.#fiber = fiber
    })
  })

  /** Keeps the stream open as long as the session lasts, if the server offers it. */
  readonly #keepOpen = (session: SessionIdentity): Effect.Effect<void> =>
    Effect.gen({ self: this }, function*() {
      const state = this.#state
      const { maxMessageBytes, maxMessageNodes, reconnect } = state.settings
      const receive = () => SseReceiver.make({ maxMessageBytes, maxMessageNodes, deliver: state.deliver })
      const reportLost = (cause: unknown, retryAfterMillis?: number) =>
        state.report({ _tag: "StreamLost", method: undefined, cause, retryAfterMillis })
      let stream = receive()
      let wasOpened = false
      let withoutEvent = 0
      let withoutMessage = 0
      while (true) {
        const [events, messages] = [stream.events(), stream.messages()]
        const startedAt = yield* millisNow
        const lastEventId = stream.lastEventId()
        const outcome = yield* StreamRequest.run(state, session, resumptionHeaders(lastEventId), (response) => {
          if (wasOpened) state.report({ _tag: "StreamResumed", method: undefined })
          wasOpened = true
          this.#isOffered = true
          return stream.read(response)
        })
        if (outcome._tag === "SessionLost") {
          // A server without this stream may answer 404, too. If the session is lost, the next message is answered with
          // 404.
          if (!this.#isOffered) return
          reportLost(undefined)
          return yield* this.#renewed(session)
        }
        const authorized = outcome._tag === "Unauthorized" ? yield* Effect.result(outcome.authorized) : Result.void
        // The session goes on, and a person may sign in later.
        const isSignedOut = outcome._tag === "Rejected" && outcome.error.reason._tag === "AuthorizationFailed"
        if (outcome._tag === "Rejected" && !isSignedOut) {
          const { reason } = outcome.error
          // The server does not offer the stream (SHS-13).
          if (reason._tag === "Rejected" && reason.status === 405 && !wasOpened) return
          // The server may have dropped the events to resume after; then a new stream delivers at least the later ones.
          if (reason._tag !== "Rejected" || lastEventId === undefined) return reportLost(outcome.error)
        }
        // A stream that lasts is useful even without events. One that always ends at once is not.
        const lasted = outcome._tag === "Ended" && (yield* millisNow) - startedAt >= reconnect.maxMillis
        withoutEvent = lasted || stream.events() > events ? 0 : withoutEvent + 1
        withoutMessage = lasted || stream.messages() > messages ? 0 : withoutMessage + 1
        const delayMillis = reconnect.millis({
          withoutEvent: Math.max(0, withoutEvent - 1),
          withoutMessage: Math.max(0, withoutMessage - 1),
          retryMillis: stream.retryMillis(),
          retryAfterMillis: outcome._tag === "Unavailable" ? outcome.retryAfterMillis : undefined
        })
        const cause = Result.isFailure(authorized)
          ? authorized.failure
          : "error" in outcome
          ? outcome.error
          : outcome.cause
        reportLost(cause, delayMillis)
        if (outcome._tag === "Rejected" && !isSignedOut) stream = receive()
        yield* Effect.sleep(delayMillis)
      }
    })

  /** Renews a lost session. The stream of the new one replaces this one. */
  #renewed(session: SessionIdentity): Effect.Effect<void> {
    const { reconnect } = this.#state.settings
    const pauseMillis = reconnect.millis({ withoutEvent: 0, withoutMessage: 0, retryMillis: undefined })
    return Effect.catch(
      this.#renew(session),
      ({ reason }) =>
        reason._tag !== "AuthorizationRequired" ? Effect.void : Effect.ignore(Effect.andThen(
          reason.authorized,
          // The pause is for an authorization that is useless although it completes at once.
          Effect.delay(Effect.suspend(() => this.#renewed(session)), pauseMillis)
        ))
    )
  }
}

/** The exchange of one message of the client: its POST, and the delivery of the response. */
import type { JsonRpc } from "@effect-mcp/protocol"
import { ResendPolicy } from "@effect-mcp/session/internalEngine"
import * as TransportError from "@effect-mcp/session/TransportError"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import { encoded } from "../../../shared/OutgoingFrame.ts"
import * as HttpCall from "../HttpCall.ts"
import * as HttpErrorResponse from "../HttpErrorResponse.ts"
import * as ResponseBody from "../ResponseBody.ts"
import { type ClientState, type SessionIdentity, sessionIdentity } from "./ClientState.ts"
import { isRepeatable, type Repetitions } from "./Repetitions.ts"
import { readJson, ResponseReader, unexpectedResponse } from "./ResponseReader.ts"
import { resume } from "./ResumableStream.ts"
import * as SessionCleanup from "./SessionCleanup.ts"
import { indicatesLoss, type Renew } from "./SessionRenewal.ts"

type Sent = Effect.Effect<void, TransportError.TransportError>

/** The parts of a connection that an exchange uses. */
export interface ExchangeDependencies {
  readonly state: ClientState
  readonly sessions: SessionCleanup.SessionCleanup
  readonly renew: Renew
  /** The standalone SSE stream, which starts after the handshake. */
  readonly standalone: { readonly start: Effect.Effect<void> }
  readonly repetitions: Repetitions
  /** The scope of the connection. */
  readonly scope: Scope.Scope
}

/** The number of times that a message waits for a person, in case an authorization completes and is useless. */
const maxWaits = 8

const initialized = "notifications/initialized"

const replaced = TransportError.make({ _tag: "SessionLost", problem: "another one has taken its place" })

export class Exchange {
  readonly #state: ClientState
  readonly #sessions: SessionCleanup.SessionCleanup
  readonly #renew: Renew
  readonly #standalone: ExchangeDependencies["standalone"]
  readonly #repetitions: Repetitions
  readonly #scope: Scope.Scope

  constructor({ renew, repetitions, scope, sessions, standalone, state }: ExchangeDependencies) {
    this.#repetitions = repetitions
    this.#scope = scope
    this.#state = state
    this.#sessions = sessions
    this.#renew = renew
    this.#standalone = standalone
  }

  /** Sends a request, and delivers everything up to its response. */
  request(message: JsonRpc.Request): Sent {
    return Effect.flatMap(encoded(message), (json) => {
      if (message.method === "initialize") this.#state.initializeRequest = message
      return this.#request(message, json, false)
    })
  }

  /** Sends a message that has no response. */
  send(frame: JsonRpc.Frame): Sent {
    return this.#sendOrLater(frame, 0)
  }

  /** Sends a message. The last one of the handshake is sent again if a person has to authorize the client. */
  #sendOrLater(frame: JsonRpc.Frame, waits: number): Sent {
    const sent = Effect.flatMap(encoded(frame), (json) => this.#send(frame, json, false))
    if (!("method" in frame) || frame.method !== initialized) return sent
    return Effect.catch(sent, (error) => {
      const { reason } = error
      if (reason._tag !== "AuthorizationRequired" || waits >= maxWaits) return Effect.fail(error)
      // Without it, the server would reject all that follows. Nothing else is kept for later, because a session sends
      // its messages one after another, and the next one would wait for the person.
      const later = Effect.andThen(reason.authorized, Effect.suspend(() => this.#sendOrLater(frame, waits + 1)))
      return Effect.asVoid(Effect.forkIn(Effect.ignore(later), this.#scope))
    })
  }

  /** Sends a request; if its session is lost, once more in a new one, unless it may have been carried out. */
  #request(message: JsonRpc.Request, json: string, isRepeated: boolean): Sent {
    return Effect.scoped(Effect.gen({ self: this }, function*() {
      const state = this.#state
      yield* state.ready
      const session = state.session
      const isInitialize = message.method === "initialize"
      const response = yield* state.endpoint.post(
        json,
        state.membership(session),
        isInitialize ? this.#sessions.completeInBackground : undefined
      )
      if (!HttpCall.isAccepted(response)) {
        const rejection = yield* HttpErrorResponse.read(response)
        if (!indicatesLoss(rejection, session)) {
          return state.deliver(yield* HttpErrorResponse.responseIn(message.id, rejection))
        }
        // The server has not carried it out, so it can be sent again.
        if (isRepeated) return yield* HttpErrorResponse.error(rejection)
        yield* this.#renew(session)
        return yield* this.#request(message, json, true)
      }
      if (isInitialize) state.session = yield* sessionIdentity(SessionCleanup.sessionOf(response), false)
      const type = HttpCall.mediaType(response)
      if (type === "application/json") {
        yield* readJson(response, state.settings, state.deliver)
        session.answered = true
        return
      }
      if (type !== "text/event-stream") return yield* unexpectedResponse(response)

      const reader = new ResponseReader(message.id, state.settings, state.deliver)
      const cause = yield* reader.follow(response)
      const current = isInitialize ? state.session : session
      const stream = { message, reader, session: current, cause }
      const failure = reader.isAnswered ? undefined : yield* resume(state, this.#renew, stream)
      if (failure === undefined) {
        session.answered = true
        return
      }
      const isRepeatable = ResendPolicy.isReading(message.method)
      const repetitions = isRepeated ? 1 : 0
      if (state.session === current || !ResendPolicy.allows({ outcome: "Unknown", isRepeatable, repetitions })) {
        return yield* failure
      }
      yield* state.ready
      return yield* this.#request(message, json, true)
    }))
  }

  /** Sends a message; if the server does not acknowledge it and may receive it twice, again in the background. */
  #send(frame: JsonRpc.Frame, json: string, isRepeated: boolean): Sent {
    const state = this.#state
    const before = state.session
    return Effect.flatMap(state.ready, (): Sent => {
      const { session } = state
      // The questions of another session may have the same ids.
      if (session !== before && !("method" in frame)) return Effect.fail(replaced)
      const sent = this.#sendIn(session, frame, json, isRepeated)
      if (!isRepeatable(frame)) return sent
      return Effect.catch(sent, (error) => {
        const again = Effect.flatMap(
          state.ready,
          () => state.session === session ? this.#sendIn(session, frame, json, isRepeated) : Effect.fail(replaced)
        )
        return this.#repetitions.begin(frame, json, error, again)
      })
    })
  }

  #sendIn(session: SessionIdentity, frame: JsonRpc.Frame, json: string, isRepeated: boolean): Sent {
    return Effect.scoped(Effect.gen({ self: this }, function*() {
      const state = this.#state
      const response = yield* state.endpoint.post(json, state.membership(session))
      const isNotification = "method" in frame
      if (HttpCall.isAccepted(response)) {
        yield* ResponseBody.discard(response)
        if (isNotification && frame.method === initialized) yield* this.#standalone.start
        return
      }
      const rejection = yield* HttpErrorResponse.read(response)
      if (!indicatesLoss(rejection, session) || isRepeated) return yield* HttpErrorResponse.error(rejection)
      yield* this.#renew(session)
      // A response to a request of the lost session matches no request of the new one.
      if (!isNotification) return yield* HttpErrorResponse.error(rejection)
      return yield* this.#send(frame, json, true)
    }))
  }
}

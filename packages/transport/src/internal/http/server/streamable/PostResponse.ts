/** The HTTP response to a POST, made from the outcome of its exchange. */
import * as Effect from "effect/Effect"
import type * as HttpServerResponse from "effect/http/HttpServerResponse"
import type { Sender } from "../HttpGuard.ts"
import * as HttpResponses from "../HttpResponses.ts"
import type { ScopeRefusal } from "../ScopeRefusal.ts"
import type { PostExchange, ResponseMode } from "./PostExchange.ts"

type Response = HttpServerResponse.HttpServerResponse

/** The responses of one server. */
export interface PostResponse {
  /** Returns the response if it is decided already. */
  readonly ifDecided: (exchange: PostExchange, sender: Sender) => Response | undefined
  /** Waits for the reply, however long it takes. The response has these headers. */
  readonly ofReply: (
    exchange: PostExchange,
    sender: Sender,
    headers: HttpResponses.Headers
  ) => Effect.Effect<Response>
  /**
   * Waits for the response, which becomes a stream after a time. The caller delivers the message and waits in one
   * uninterruptible region, and only the waiting is interruptible, by `restore`. Without this, a client that
   * disconnects in between would leave its exchange attached for ever.
   */
  readonly of: (exchange: PostExchange, sender: Sender, restore: Restore) => Effect.Effect<Response>
}

type Restore = <A>(effect: Effect.Effect<A>) => Effect.Effect<A>

const accepted = HttpResponses.empty(202)

/** Returns the header `Retry-After` of a rejection: after 429 the session has room as soon as a request has ended. */
const retryAfter = (status: number): HttpResponses.Headers | undefined =>
  status === 429 ? HttpResponses.retryAfter(1000) : status === 503 ? HttpResponses.retryAfter() : undefined

const none: HttpResponses.Headers = {}

/** Makes the responses of a server with this mode. */
export const make = (options: {
  readonly mode: ResponseMode
  readonly adaptiveMillis: number
  readonly scopes: ScopeRefusal
}): PostResponse => {
  const { adaptiveMillis, mode, scopes } = options

  const decided = (
    { outcome }: PostExchange,
    sender: Sender,
    headers: HttpResponses.Headers
  ): Response | undefined => {
    switch (outcome?._tag) {
      case undefined:
        return undefined
      case "Json":
        return outcome.scopes === undefined
          ? HttpResponses.json(outcome.status, outcome.body, { ...headers, ...retryAfter(outcome.status) })
          : scopes.response(outcome.body, outcome.scopes, sender)
      case "EventStream":
        return HttpResponses.eventStream(outcome.body, headers)
      case "Accepted":
        return accepted
    }
  }

  const after = (
    waiting: Effect.Effect<unknown>,
    exchange: PostExchange,
    sender: Sender,
    headers: HttpResponses.Headers
  ): Effect.Effect<Response> =>
    Effect.map(
      Effect.onInterrupt(waiting, () => Effect.sync(() => exchange.disconnect())),
      () => decided(exchange, sender, headers) ?? accepted
    )

  return {
    ifDecided: (exchange, sender) => decided(exchange, sender, none),
    ofReply: (exchange, sender, headers) => after(exchange.decided, exchange, sender, headers),
    of: (exchange, sender, restore) => {
      if (mode === "stream") exchange.startStream()
      const later = Effect.andThen(Effect.sleep(adaptiveMillis), Effect.sync(() => exchange.startStream()))
      const waiting = mode === "adaptive"
        ? Effect.raceFirst(exchange.decided, Effect.andThen(later, Effect.never))
        : exchange.decided
      return after(restore(waiting), exchange, sender, none)
    }
  }
}

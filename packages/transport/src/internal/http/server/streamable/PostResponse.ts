import * as Effect from "effect/Effect"
import type * as HttpServerResponse from "effect/http/HttpServerResponse"
import * as HttpResponses from "../HttpResponses.ts"
import type { Mode, PostExchange } from "./PostExchange.ts"

type Response = HttpServerResponse.HttpServerResponse

/** How a POST is answered. */
export interface PostResponse {
  /** The response, if it is known already what it is. */
  readonly known: (exchange: PostExchange, headers: HttpResponses.Headers) => Response | undefined
  /** Waits for the reply, as long as it takes. */
  readonly replied: (exchange: PostExchange, headers: HttpResponses.Headers) => Effect.Effect<Response>
  /**
   * Waits for the response; one that takes long becomes a stream. Whoever sends the request into its session is not to be interrupted
   * between that and this, or nobody would know that it has left; only what `restore` is given can be.
   */
  readonly awaited: (exchange: PostExchange, restore: Restore) => Effect.Effect<Response>
}

type Restore = <A>(effect: Effect.Effect<A>) => Effect.Effect<A>

const accepted = HttpResponses.empty(202)

const known: PostResponse["known"] = ({ answer }, headers) => {
  switch (answer?._tag) {
    case undefined:
      return undefined
    case "Reply":
      return HttpResponses.json(
        answer.status,
        answer.body,
        answer.status === 429 ? { ...headers, "retry-after": "1" } : headers
      )
    case "Events":
      return HttpResponses.events(answer.reader, headers)
    case "Nothing":
      return accepted
  }
}

const answered = (
  exchange: PostExchange,
  headers: HttpResponses.Headers,
  waited: Effect.Effect<unknown>
): Effect.Effect<Response> =>
  Effect.map(
    Effect.onInterrupt(waited, () => Effect.sync(() => exchange.leave())),
    () => known(exchange, headers) ?? accepted
  )

export const make = (options: { readonly mode: Mode; readonly adaptiveMillis: number }): PostResponse => {
  const { mode, adaptiveMillis } = options
  return {
    known,
    replied: (exchange, headers) => answered(exchange, headers, exchange.answered),
    awaited: (exchange, restore) => {
      if (mode === "stream") exchange.begin()
      const later = Effect.andThen(Effect.sleep(adaptiveMillis), Effect.sync(() => exchange.begin()))
      return answered(
        exchange,
        {},
        restore(
          mode === "adaptive"
            ? Effect.raceFirst(exchange.answered, Effect.andThen(later, Effect.never))
            : exchange.answered
        )
      )
    }
  }
}

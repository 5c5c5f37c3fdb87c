import * as Effect from "effect/Effect"
import type * as HttpServerResponse from "effect/http/HttpServerResponse"
import * as HttpAnswer from "./HttpAnswer.ts"
import type { Mode, PostExchange } from "./PostExchange.ts"

type Response = HttpServerResponse.HttpServerResponse

/** How a POST is answered. */
export interface PostResponse {
  /** The response, if it is known already what it is. */
  readonly known: (exchange: PostExchange, headers: HttpAnswer.Headers) => Response | undefined
  /** Waits for the response; one that takes long becomes a stream. */
  readonly awaited: (exchange: PostExchange, headers: HttpAnswer.Headers) => Effect.Effect<Response>
}

const accepted = HttpAnswer.empty(202)

const known: PostResponse["known"] = ({ answer }, headers) => {
  switch (answer?._tag) {
    case undefined:
      return undefined
    case "Reply":
      return HttpAnswer.json(
        answer.status,
        answer.body,
        answer.status === 429 ? { ...headers, "retry-after": "1" } : headers
      )
    case "Events":
      return HttpAnswer.events(answer.reader, headers)
    case "Nothing":
      return accepted
  }
}

export const make = (options: { readonly mode: Mode; readonly streamAfterMillis: number }): PostResponse => {
  const { mode, streamAfterMillis } = options
  return {
    known,
    awaited: (exchange, headers) => {
      const begun = mode === "stream" ? Effect.ignore(exchange.begin()) : undefined
      const waited = mode === "adaptive"
        ? Effect.raceFirst(
          exchange.answered,
          Effect.andThen(
            Effect.sleep(streamAfterMillis),
            Effect.andThen(Effect.suspend(() => Effect.ignore(exchange.begin())), Effect.never)
          )
        )
        : exchange.answered
      const answered = Effect.map(waited, () => known(exchange, headers) ?? accepted)
      return begun === undefined ? answered : Effect.andThen(begun, answered)
    }
  }
}

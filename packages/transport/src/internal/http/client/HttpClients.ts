/** The HTTP client of every platform, loaded on first use. */
import * as Effect from "effect/Effect"
import type { HttpClient } from "effect/http/HttpClient"
import * as Layer from "effect/Layer"

/** The global `fetch`. */
export const fetch: Layer.Layer<HttpClient> = Layer.unwrap(Effect.map(
  Effect.promise(() => import("effect/http/FetchHttpClient")),
  (client) => client.layer
))

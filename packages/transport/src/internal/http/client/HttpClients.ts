/** What makes HTTP calls, loaded when it is used. */
import * as Effect from "effect/Effect"
import type { HttpClient } from "effect/http/HttpClient"
import * as Layer from "effect/Layer"

/** On Node. It keeps connections for the next call, lets go of one that is given up, and leaves none when the Layer closes. */
export const undici: Layer.Layer<HttpClient> = Layer.unwrap(Effect.map(
  Effect.promise(() => import("@effect/platform-node/NodeHttpClient")),
  (client) => client.layerUndici
))

/** The `fetch` that there is. */
export const fetch: Layer.Layer<HttpClient> = Layer.unwrap(Effect.map(
  Effect.promise(() => import("effect/http/FetchHttpClient")),
  (client) => client.layer
))

/** The HTTP client of Node, loaded on first use. */
import * as Effect from "effect/Effect"
import type { HttpClient } from "effect/http/HttpClient"
import * as Layer from "effect/Layer"
import * as HttpClients from "./HttpClients.ts"

/**
 * The client of Node, undici. It keeps connections alive for later requests, closes the connection of an aborted one,
 * and closes all connections with the Layer. A runtime without undici gets `fetch`.
 */
export const layer: Layer.Layer<HttpClient> = Layer.unwrap(Effect.map(
  Effect.promise(() => import("./UndiciAgent.ts")),
  (undici) => undici.isSupported ? undici.layer : HttpClients.fetch
))

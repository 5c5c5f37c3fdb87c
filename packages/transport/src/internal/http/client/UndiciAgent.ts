/**
 * The connections of undici, as the dispatcher of Effect's client.
 *
 * A bundler with several output files drops the names of `@effect/platform-node/Undici` if the module is imported
 * dynamically, because it exports those of a CommonJS module. Here it is imported statically, and this module
 * dynamically. `NodeHttpClient.layerUndici` imports it dynamically for its own dispatcher, and fails in such a bundle.
 */
import * as NodeHttpClient from "@effect/platform-node/NodeHttpClient"
import { Agent } from "@effect/platform-node/Undici"
import * as Effect from "effect/Effect"
import type { HttpClient } from "effect/http/HttpClient"
import * as Layer from "effect/Layer"

/** Whether this runtime has undici. Bun has a module of that name without dispatchers. */
export const isSupported = typeof Agent.prototype.request === "function"

const dispatcher = Effect.acquireRelease(
  Effect.sync(() => new Agent()),
  (agent) => Effect.promise(() => agent.destroy())
)

/** A client with connections of its own, which are closed with the Layer. */
export const layer: Layer.Layer<HttpClient> = Layer.provide(
  NodeHttpClient.layerUndiciNoDispatcher,
  Layer.effect(NodeHttpClient.Dispatcher, dispatcher)
)

/**
 * The server: the tools over HTTP, without sessions. Each request carries all that it needs, so any number of processes
 * can serve the same clients. It serves revision 2026-07-28, and the requests of older clients.
 */
import { McpServer } from "@effect-mcp/server"
import { Authentication, StatelessHttpServer } from "@effect-mcp/transport"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import manifest from "../package.json" with { type: "json" }
import { TemperaturesLive } from "./temperatures.ts"

/** The handlers of the tools. */
export const handlers = McpServer.makeStatelessHandlers(TemperaturesLive)

/** The name of the server, and its version. */
export const options = { info: { name: manifest.name, version: manifest.version } }

/** Accepts every request: the tools have no data of users. `Authentication.layerBearer` accepts those with a token. */
export const authentication = Authentication.anonymous

/** The route `/mcp` of any HTTP server. */
export const routes = Layer.unwrap(
  Effect.map(handlers, (handlers) => StatelessHttpServer.layer(handlers, options))
).pipe(Layer.provide(authentication))

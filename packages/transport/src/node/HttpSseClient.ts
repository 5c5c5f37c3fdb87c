/**
 * `HttpSseClient` on Node, over undici.
 *
 * @stability unstable
 */
import type * as Transport from "@effect-mcp/session/Transport"
import * as Layer from "effect/Layer"
import { layer, type Options } from "../HttpSseClient.ts"
import * as UndiciClient from "../internal/http/client/UndiciClient.ts"

export * from "../HttpSseClient.ts"

/**
 * Provides the transport on Node, over undici. It closes the connection of a cancelled request, and all connections
 * with the Layer.
 *
 * @example
 * ```ts
 * import { ClientSession } from "@effect-mcp/session"
 * import { HttpSseClient } from "@effect-mcp/transport/node"
 * import * as Effect from "effect/Effect"
 * import * as Layer from "effect/Layer"
 *
 * const server = HttpSseClient.layerNode({ url: "https://example.com/sse" })
 * const session = ClientSession.layer({ info: { name: "example", version: "1.0.0" } })
 *
 * export const program = Effect.gen(function*() {
 *   const example = yield* ClientSession.ClientSession
 *   return yield* example.callTool("search", { words: "birthday" })
 * }).pipe(
 *   Effect.provide(Layer.provide(session, server))
 * )
 * ```
 *
 * @category layers
 */
export const layerNode = (options: Options): Layer.Layer<Transport.Transport> =>
  Layer.provide(layer(options), UndiciClient.layer)

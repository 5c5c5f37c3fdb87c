/**
 * `HttpFallbackClient` on Node, over undici.
 *
 * @stability unstable
 */
import type * as Transport from "@effect-mcp/session/Transport"
import * as Layer from "effect/Layer"
import { layer, type Options } from "../HttpFallbackClient.ts"
import * as UndiciClient from "../internal/http/client/UndiciClient.ts"

export * from "../HttpFallbackClient.ts"

/**
 * Provides the transport on Node, over undici.
 *
 * @example
 * ```ts
 * import { ClientSession } from "@effect-mcp/session"
 * import { HttpFallbackClient } from "@effect-mcp/transport/node"
 * import * as Effect from "effect/Effect"
 * import * as Layer from "effect/Layer"
 *
 * // A server of either transport.
 * const server = HttpFallbackClient.layerNode({ url: "https://example.com/sse" })
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

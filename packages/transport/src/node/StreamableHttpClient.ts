/**
 * `StreamableHttpClient` on Node, over undici.
 *
 * @stability unstable
 */
import type * as Transport from "@effect-mcp/session/Transport"
import * as Layer from "effect/Layer"
import * as UndiciClient from "../internal/http/client/UndiciClient.ts"
import { layer, type Options } from "../StreamableHttpClient.ts"

export * from "../StreamableHttpClient.ts"

/**
 * Provides the transport on Node, over undici. It keeps connections alive for later messages, closes the connection of
 * a cancelled request, and closes all connections with the Layer.
 *
 * @example
 * ```ts
 * import { ClientSession } from "@effect-mcp/session"
 * import { StreamableHttpClient } from "@effect-mcp/transport/node"
 * import * as Effect from "effect/Effect"
 * import * as Layer from "effect/Layer"
 * import * as Redacted from "effect/Redacted"
 *
 * const server = StreamableHttpClient.layerNode({
 *   url: "https://example.com/mcp",
 *   headers: { authorization: Redacted.make(`Bearer ${process.env["EXAMPLE_TOKEN"]}`) }
 * })
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

/**
 * `HttpSseServer` on Node, with a listener of its own.
 *
 * @stability unstable
 */
import { NumericOption } from "@effect-mcp/session/internal"
import type * as SessionHost from "@effect-mcp/session/SessionHost"
import type { HttpServer } from "effect/http/HttpServer"
import type { ServeError } from "effect/http/HttpServerError"
import * as Layer from "effect/Layer"
import type { Authentication } from "../Authentication.ts"
import type * as HttpServerOptions from "../HttpServerOptions.ts"
import { layer, layerRedactedSessionParameter, type Options } from "../HttpSseServer.ts"
import * as HttpServerSettings from "../internal/http/server/HttpServerSettings.ts"
import * as NodeListener from "../internal/http/server/NodeListener.ts"

export * from "../HttpSseServer.ts"

/**
 * Options of a server with its own listener.
 *
 * @category options
 */
export interface NodeOptions extends Options, HttpServerOptions.ListenOptions {}

/**
 * Runs the server on Node, on its own port, for as long as the Layer lives. Its context has an `HttpServer` with the
 * address. On shutdown, the host opens no more sessions and ends the existing ones, their streams end, and then the
 * listener closes.
 *
 * @example
 * ```ts
 * import { Content } from "@effect-mcp/protocol"
 * import { SessionHost } from "@effect-mcp/session"
 * import { Authentication, HttpSseServer } from "@effect-mcp/transport/node"
 * import * as Effect from "effect/Effect"
 * import * as Layer from "effect/Layer"
 *
 * const host = SessionHost.layer({
 *   "tools/call": () => Effect.succeed({ content: [Content.text("42")] })
 * }, { info: { name: "example", version: "1.0.0" } })
 *
 * export const main = HttpSseServer.layerNode({ port: 3000 }).pipe(
 *   Layer.provide(host),
 *   Layer.provide(Authentication.anonymous),
 *   Layer.launch
 * )
 * ```
 *
 * @category layers
 */
export const layerNode = (
  options: NodeOptions
): Layer.Layer<HttpServer, ServeError, Authentication | SessionHost.SessionHost> => {
  NumericOption.check(options, { ...HttpServerSettings.rules, ...HttpServerSettings.listenRules })
  return NodeListener.hosting(options, layer(options)).pipe(Layer.provide(layerRedactedSessionParameter))
}

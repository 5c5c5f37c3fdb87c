/**
 * `StreamableHttpServer` on Node, with a listener of its own.
 *
 * @stability unstable
 */
import { NumericOption } from "@effect-mcp/session/internal"
import type * as SessionHost from "@effect-mcp/session/SessionHost"
import type * as HttpRouter from "effect/http/HttpRouter"
import type { HttpServer } from "effect/http/HttpServer"
import type { ServeError } from "effect/http/HttpServerError"
import * as Layer from "effect/Layer"
import type { Authentication } from "../Authentication.ts"
import type * as HttpServerOptions from "../HttpServerOptions.ts"
import * as NodeForwarder from "../internal/http/server/forwarding/NodeForwarder.ts"
import * as HttpServerSettings from "../internal/http/server/HttpServerSettings.ts"
import * as NodeListener from "../internal/http/server/NodeListener.ts"
import * as StreamableParts from "../internal/http/server/streamable/StreamableParts.ts"
import { layer as mounted, type Options } from "../StreamableHttpServer.ts"

export * from "../StreamableHttpServer.ts"

/**
 * Options of a server with its own listener.
 *
 * @category options
 */
export interface NodeOptions extends Options, HttpServerOptions.ListenOptions {}

/**
 * Runs the server on Node, on its own port, for as long as the Layer lives. Its context has an `HttpServer` with the
 * address. On shutdown, the host opens no more sessions and ends the existing ones, their responses end, and then the
 * listener closes.
 *
 * @example
 * ```ts
 * import { Content } from "@effect-mcp/protocol"
 * import { SessionHost } from "@effect-mcp/session"
 * import { Authentication, StreamableHttpServer } from "@effect-mcp/transport/node"
 * import * as Effect from "effect/Effect"
 * import * as Layer from "effect/Layer"
 *
 * const host = SessionHost.layer({
 *   "tools/call": () => Effect.succeed({ content: [Content.text("42")] })
 * }, { info: { name: "example", version: "1.0.0" } })
 *
 * export const main = StreamableHttpServer.layerNode({ port: 3000 }).pipe(
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
  NumericOption.check(options, { ...StreamableParts.sessionRules, ...HttpServerSettings.listenRules })
  return NodeListener.hosting(options, layer(options))
}

/**
 * Mounts the server in an HTTP backend, as the Layer of the same name of `@effect-mcp/transport` does. With
 * `SessionOwners`, it forwards requests to other processes with the HTTP client of Node.
 *
 * @example
 * ```ts
 * import { SessionHost } from "@effect-mcp/session"
 * import { Authentication, StreamableHttpServer } from "@effect-mcp/transport/node"
 * import * as NodeHttpServer from "@effect/platform-node/NodeHttpServer"
 * import * as HttpRouter from "effect/http/HttpRouter"
 * import * as Layer from "effect/Layer"
 * import { createServer } from "node:http"
 *
 * const host = SessionHost.layer({}, { info: { name: "example", version: "1.0.0" } })
 *
 * export const backend = SessionHost.layerDrain.pipe(
 *   Layer.provide(HttpRouter.serve(StreamableHttpServer.layer())),
 *   Layer.provide(NodeHttpServer.layerServer(() => createServer(), { port: 3000, host: "127.0.0.1" })),
 *   Layer.provide(host),
 *   Layer.provide(Authentication.anonymous)
 * )
 * ```
 *
 * @category layers
 */
export const layer = (
  options: Options = {}
): Layer.Layer<never, never, Authentication | HttpRouter.HttpRouter | SessionHost.SessionHost> =>
  Layer.provide(mounted(options), NodeForwarder.layer)

/**
 * `StatelessHttpServer` on Node, with a listener of its own.
 *
 * @stability unstable
 */
import type * as Handlers from "@effect-mcp/session/Handlers"
import { NumericOption } from "@effect-mcp/session/internal"
import * as Effect from "effect/Effect"
import * as HttpRouter from "effect/http/HttpRouter"
import type { HttpServer } from "effect/http/HttpServer"
import type { ServeError } from "effect/http/HttpServerError"
import * as Layer from "effect/Layer"
import type { Authentication } from "../Authentication.ts"
import type * as HttpServerOptions from "../HttpServerOptions.ts"
import * as HttpServerSettings from "../internal/http/server/HttpServerSettings.ts"
import * as NodeListener from "../internal/http/server/NodeListener.ts"
import { make, type ServicesOf } from "../internal/http/server/streamable/DrainableServer.ts"
import type { Options } from "../StatelessHttpServer.ts"

export * from "../StatelessHttpServer.ts"

/**
 * Options of a server with its own listener.
 *
 * @category options
 */
export interface NodeOptions<R = never> extends Options<R>, HttpServerOptions.ListenOptions {}

/**
 * Runs a server without sessions on Node, on its own port, for as long as the Layer lives. Its context has an
 * `HttpServer` with the address. On shutdown it rejects new requests, handlers may finish within
 * `limits.gracefulTimeout`, every response ends, and then the listener closes.
 *
 * @example
 * ```ts
 * import { Content } from "@effect-mcp/protocol"
 * import { Authentication, StatelessHttpServer } from "@effect-mcp/transport/node"
 * import * as Effect from "effect/Effect"
 * import * as Layer from "effect/Layer"
 *
 * export const main = StatelessHttpServer.layerNode({
 *   "tools/call": () => Effect.succeed({ content: [Content.text("42")] })
 * }, { info: { name: "example", version: "1.0.0" }, port: 3000 }).pipe(
 *   Layer.provide(Authentication.anonymous),
 *   Layer.launch
 * )
 * ```
 *
 * @category layers
 */
export const layerNode = <const H extends Handlers.Handlers<"client", unknown>, R = never>(
  handlers: H & Handlers.Only<H, "client">,
  options: NodeOptions<R>
): Layer.Layer<HttpServer, ServeError, Authentication | ServicesOf<H, R>> => {
  NumericOption.check<HttpServerOptions.ListenOptions>(options, HttpServerSettings.listenRules)
  return NodeListener.listening(
    options,
    (closeConnections) =>
      Layer.unwrap(Effect.map(make<H, R>(handlers, options), ({ drain, handle }) =>
        NodeListener.serving(
          HttpRouter.add("*", options.path ?? "/mcp", handle),
          closeConnections,
          Layer.effectDiscard(Effect.addFinalizer(() => drain))
        )))
  )
}

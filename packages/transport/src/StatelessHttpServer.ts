/**
 * The server side of Streamable HTTP without sessions, on one path of any Effect HTTP backend. It serves each POST on
 * its own and remembers nothing between two requests, so that any number of backends can serve the same clients. For
 * sessions, see `StreamableHttpServer`.
 *
 * @stability unstable
 */
import type * as Handlers from "@effect-mcp/session/Handlers"
import type * as StatelessServer from "@effect-mcp/session/StatelessServer"
import * as Effect from "effect/Effect"
import * as HttpRouter from "effect/http/HttpRouter"
import type { HttpServerRequest } from "effect/http/HttpServerRequest"
import type { HttpServerResponse } from "effect/http/HttpServerResponse"
import type * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import type { Authentication } from "./Authentication.ts"
import type * as HttpServerOptions from "./HttpServerOptions.ts"
import { make, type ServicesOf } from "./internal/http/server/streamable/DrainableServer.ts"

/**
 * Options of a server: those of Streamable HTTP, and those of `StatelessServer.Options`. On shutdown, handlers may
 * finish within `limits.gracefulTimeout`. One client may have half of `limits.maxIncomingRequests` in flight, and of
 * `limits.maxIncomingBytes`, so that there is always room for another.
 *
 * @category options
 */
export interface Options<R = never> extends HttpServerOptions.StreamableOptions, StatelessServer.Options<R> {}

/**
 * Returns a server without sessions as a handler of requests, independent of their path. Each POST is served on its
 * own. The server issues no session id and ignores those that clients send. GET and DELETE are rejected with 405,
 * because there is no stream to open and no session to end (SHS-13, SHS-28).
 *
 * The revision of a request is that of its header `MCP-Protocol-Version`, or 2025-03-26 without this header (SHS-29).
 * A request whose header or metadata names revision 2026-07-28 is served in this revision: its headers must match its
 * body, and a client that closes the response cancels the request. The `Authentication` decides which requests are
 * accepted. When the scope closes, requests in flight end.
 *
 * @example
 * ```ts
 * import { Content } from "@effect-mcp/protocol"
 * import { Authentication, StatelessHttpServer } from "@effect-mcp/transport"
 * import * as Effect from "effect/Effect"
 * import * as HttpEffect from "effect/http/HttpEffect"
 * import { HttpServerRequest } from "effect/http/HttpServerRequest"
 *
 * // For an environment that starts a process for each request.
 * export const status = Effect.gen(function*() {
 *   const handle = yield* StatelessHttpServer.makeHandler({
 *     "tools/call": () => Effect.succeed({ content: [Content.text("42")] })
 *   }, { info: { name: "example", version: "1.0.0" } })
 *   const handler = HttpEffect.toWebHandler(Effect.flatMap(HttpServerRequest, handle))
 *   const response = yield* Effect.promise(() => handler(new Request("https://example.com/mcp")))
 *   return response.status
 * }).pipe(Effect.scoped, Effect.provide(Authentication.anonymous)) // => 405
 * ```
 *
 * @category constructors
 */
export const makeHandler = <const H extends Handlers.Handlers<"client", unknown>, R = never>(
  handlers: H & Handlers.Only<H, "client">,
  options: Options<R>
): Effect.Effect<
  (request: HttpServerRequest) => Effect.Effect<HttpServerResponse>,
  never,
  Authentication | ServicesOf<H, R> | Scope.Scope
> => Effect.map(make<H, R>(handlers, options), ({ handle }) => handle)

/**
 * Mounts a server without sessions in an HTTP backend; see {@link makeHandler}. Any number of backends can serve
 * the same clients. A backend that shuts down first waits for open responses until the `gracefulShutdownTimeout` of
 * its HTTP server (20 seconds on Node). Then it breaks off requests in flight.
 *
 * @example
 * ```ts
 * import { Content } from "@effect-mcp/protocol"
 * import { Authentication, StatelessHttpServer } from "@effect-mcp/transport"
 * import * as Effect from "effect/Effect"
 * import * as HttpRouter from "effect/http/HttpRouter"
 * import * as HttpServerResponse from "effect/http/HttpServerResponse"
 * import * as Layer from "effect/Layer"
 *
 * export const backend = Layer.mergeAll(
 *   HttpRouter.add("GET", "/health", HttpServerResponse.text("fine")),
 *   StatelessHttpServer.layer({
 *     "tools/call": () => Effect.succeed({ content: [Content.text("42")] })
 *   }, { info: { name: "example", version: "1.0.0" } })
 * ).pipe(Layer.provide(Authentication.anonymous))
 * ```
 *
 * @category layers
 */
export const layer = <const H extends Handlers.Handlers<"client", unknown>, R = never>(
  handlers: H & Handlers.Only<H, "client">,
  options: Options<R>
): Layer.Layer<never, never, Authentication | HttpRouter.HttpRouter | ServicesOf<H, R>> =>
  HttpRouter.use((router) =>
    Effect.flatMap(makeHandler<H, R>(handlers, options), (handle) => router.add("*", options.path ?? "/mcp", handle))
  )

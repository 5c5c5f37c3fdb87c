/**
 * A server without sessions: it serves each frame by itself and stores nothing about its client. Any number of
 * processes can serve the same clients this way.
 *
 * No session is opened for a frame, so a frame costs little. A handler can send notifications while its request is
 * served. A request of a handler to the client fails with `StatelessModeNotSupported`, because the response could reach
 * any process. Request ids and cancellations have an effect only within a frame, because the next frame may be from
 * another client. Over a connection with one client, use `ServerSession` with the option `stateless`.
 *
 * @stability unstable
 */
import type { JsonRpc } from "@effect-mcp/protocol"
import type * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import type * as Handlers from "./Handlers.ts"
import type * as FrameServer from "./internal/server/FrameServer.ts"
import type * as InboundEra from "./internal/server/InboundEra.ts"
import * as StatelessServerImplementation from "./internal/server/StatelessServerImplementation.ts"
import type * as ServerSession from "./ServerSession.ts"

/**
 * Options for a server without sessions: those of `ServerSession.Options` that do not concern the handshake. The limits
 * `maxIncomingRequests` and `maxIncomingBytes` are those of all clients together. No client may have more in flight
 * than there is still room for: a client alone gets half, and the next client gets half of the rest. `middleware` for
 * requests of the server is not used, because the server sends none.
 *
 * @category models
 */
export interface Options<R = never> extends Omit<ServerSession.Options<R>, "requireInitialized" | "stateless"> {}

/**
 * The client and the circumstances of one frame.
 *
 * @category models
 */
export interface IncomingFrame extends FrameServer.IncomingFrame {}

/**
 * The era of a frame: the decision of a server how it serves the frame, made once by `eraOf`. `Handshake`: as revisions
 * with a handshake do. `Modern`: as a request of revision 2026-07-28, with the client that its metadata describe.
 * `ModernFrame`: as another message of that revision. `Rejected`: not at all, because of the error.
 *
 * @category models
 */
export type Era = InboundEra.InboundEra

/**
 * The reply to a request, or the replies to a batch of 2025-03-26.
 *
 * @category models
 */
export type Reply = JsonRpc.Response | ReadonlyArray<JsonRpc.Response>

/**
 * A server without sessions, ready to serve.
 *
 * @category models
 */
export interface StatelessServer extends StatelessServerImplementation.StatelessServer {}

/**
 * Makes a server. Each request runs its handler with a `RequestContext` and a scope. The other services of the handlers
 * are those of the program that makes the server. A request of a revision without a handshake (2026-07-28) has its
 * client in its metadata, so its handler knows the client's capabilities; log messages have the level of the request.
 *
 * @example
 * ```ts
 * import { Content, JsonRpc } from "@effect-mcp/protocol"
 * import { StatelessServer } from "@effect-mcp/session"
 * import * as Effect from "effect/Effect"
 *
 * export const reply = Effect.gen(function*() {
 *   const server = yield* StatelessServer.make({
 *     "tools/call": () => Effect.succeed({ content: [Content.text("42")] })
 *   }, { info: { name: "example", version: "1.0.0" } })
 *   return yield* server.handle(JsonRpc.request(1, "tools/call", { name: "answer" }), { revision: "2025-11-25" })
 * }) // => { jsonrpc: "2.0", id: 1, result: { content: [{ type: "text", text: "42" }] } }
 * ```
 *
 * @category constructors
 */
export const make = <const H extends Handlers.Handlers<"client", unknown>, R = never>(
  handlers: H & Handlers.Only<H, "client">,
  options: Options<R>
): Effect.Effect<StatelessServer, never, Exclude<Handlers.ServicesOf<H, "client"> | R, Scope.Scope>> =>
  StatelessServerImplementation.make(handlers, options)

/**
 * The session of a server with one client.
 *
 * @stability unstable
 */
import type { CloseReason, JsonRpc, Revision } from "@effect-mcp/protocol"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import type { Extension } from "./Extension.ts"
import type * as Handlers from "./Handlers.ts"
import * as SealInMemory from "./internal/server/SealInMemory.ts"
import type * as ServerDefinition from "./internal/server/ServerDefinition.ts"
import * as ServerSessionImplementation from "./internal/server/ServerSessionImplementation.ts"
import type * as Shapes from "./internal/server/ServerSessionShape.ts"
import type { GatedServerTasks } from "./internal/server/ServerTaskGate.ts"
import * as MemoryTransport from "./MemoryTransport.ts"
import type { Middleware } from "./Middleware.ts"
import type { RequestContext } from "./RequestContext.ts"
import type * as Session from "./Session.ts"
import { Transport } from "./Transport.ts"
import type { TransportError } from "./TransportError.ts"

/**
 * Options for a server's session.
 *
 * @category models
 */
export interface Options<R = never> extends Omit<Session.Options, "revisions"> {
  /**
   * The revisions that the server serves, newest first in its answers. With 2026-07-28 among them, it serves requests
   * that carry their revision and their client, beside sessions with a handshake (VER-04). Default: all revisions of
   * this library; without 2026-07-28 if the program declares that it notifies clients of changes and does not handle
   * `subscriptions/listen`, because clients of that revision would not hear of them.
   */
  readonly revisions?: readonly [Revision.Revision, ...ReadonlyArray<Revision.Revision>]
  /** The server's instructions for a model that uses it. */
  readonly instructions?: string
  /**
   * Capabilities beyond those that the handlers imply, for example `tools: { listChanged: true }`. `logging` is
   * declared unless it is `false`; then log messages fail.
   */
  readonly capabilities?: Handlers.ServerDeclarations
  /**
   * Rejects requests before `notifications/initialized`. Default: the first request counts as that notification,
   * because some transports may deliver it earlier.
   */
  readonly requireInitialized?: boolean
  /**
   * Serves without a handshake, in this revision. The server stores nothing about the client. The response to
   * `initialize` has this revision and changes nothing. Requests of the server, ping included, fail with
   * `StatelessModeNotSupported`. The connection still has one client: its requests in flight have different ids, and it
   * can cancel them. If several clients share a connection, use `StatelessServer` for its frames. Default: a session,
   * which begins with a handshake.
   */
  readonly stateless?: { readonly revision: Revision.LegacyRevision }
  /**
   * The state of calls that ask their clients in revision 2026-07-28: it expires after 10 minutes, and is accepted more
   * than once, unless these options say otherwise.
   */
  readonly requestState?: RequestStateOptions
  /**
   * The tasks of the server: it serves their methods, and lets calls of tools become tasks. Several sessions may have
   * the same ones.
   */
  readonly tasks?: GatedServerTasks
  /** The handlers of the client's own methods, which are not in the method table. */
  readonly extensions?: ReadonlyArray<Extension<"client" | "either", R | RequestContext | Scope.Scope>>
  /**
   * Returns all scopes that a request needs. A request whose sender lacks one of them is rejected before middleware and
   * handlers: with 403 and a challenge over HTTP (AUT-46), or else with the error `InsufficientScope` (−31012). A
   * sender of a transport without authentication has all scopes, unless it has a principal. It is called for each
   * request, and must not block; if it throws, the request is rejected. Default: the scopes that `McpServer` needs.
   */
  readonly scopesOf?: (request: Pick<JsonRpc.Request, "method" | "params">) => ReadonlyArray<string> | undefined
  /** The middleware of requests in both directions. */
  readonly middleware?: Middleware<R | RequestContext | Scope.Scope, R>
}

/**
 * Options of the state of a call that asks its client, in revision 2026-07-28.
 *
 * @category models
 */
export interface RequestStateOptions extends ServerDefinition.RequestStateOptions {}

/**
 * The states of a server, with or without sessions. `Modern` is that of a connection whose client has sent a request of
 * a revision without a handshake, and no `initialize`.
 *
 * @category models
 */
export type State = Shapes.State

/**
 * Options for a message of the server: the request of the client that it belongs to. Without one, the message takes the
 * standalone stream of the transport, if there is one. In a handler use `RequestContext`, which sets it.
 *
 * @category models
 */
export interface RelatedRequest extends Shapes.RelatedRequest {}

/**
 * Options for a request of the server.
 *
 * @category models
 */
export interface ServerRequestOptions<R = never> extends Shapes.ServerRequestOptions<R> {}

/**
 * Options for a request that is built and not sent: its task.
 *
 * @category models
 */
export interface BuildOptions extends Shapes.BuildOptions {}

/**
 * A session of a server, from its connection on: its handshake may not be done yet. Members are lazy getters, so a
 * spread (`{ ...session }`) copies none of them.
 *
 * @category models
 */
export interface ServerSessionShape extends Shapes.ServerSessionShape {}

/**
 * The session with the client.
 *
 * A client of revision 2026-07-28 sends no `initialize`. The session is then the connection of its requests: each
 * request names its client, and shares the limits and the lifetime of the session. `state` is `Modern`, and `profile`
 * is the client of the first request. Requests and notifications of the session itself fail, because the client
 * receives messages only within its own requests: by `RequestContext`, and by the `Listener` of `subscriptions/listen`.
 *
 * @example
 * ```ts
 * import { ServerSession } from "@effect-mcp/session"
 * import * as Effect from "effect/Effect"
 *
 * // Sent by the server itself, whether a request is being served or not.
 * export const announce = Effect.gen(function*() {
 *   const session = yield* ServerSession.ServerSession
 *   yield* session.toolListChanged
 * })
 * ```
 *
 * @category services
 */
export class ServerSession
  extends Context.Service<ServerSession, ServerSessionShape>()("@effect-mcp/session/ServerSession")
{}

/**
 * Connects and starts to serve. It returns before the handshake. Each request runs its handler in a separate fiber,
 * with a `RequestContext`. The response to `initialize` has the requested revision, or the newest revision of this
 * server (INIT-04, INIT-05, INIT-07). Fails with a `TransportError` if the transport cannot connect. Leaving the scope
 * closes the session.
 *
 * @example
 * ```ts
 * import { Content } from "@effect-mcp/protocol"
 * import { ServerSession } from "@effect-mcp/session"
 * import { StdioServer } from "@effect-mcp/transport/node"
 * import * as Effect from "effect/Effect"
 *
 * export const main = Effect.gen(function*() {
 *   const session = yield* ServerSession.make({
 *     "tools/call": () => Effect.succeed({ content: [Content.text("hello")] })
 *   }, { info: { name: "greeter", version: "1.0.0" } })
 *   const client = yield* session.profile
 *   yield* Effect.logInfo(`serving ${client.info?.name}`)
 *   return yield* session.closed
 * }).pipe(Effect.scoped, Effect.provide(StdioServer.layerNode()))
 * ```
 *
 * @category constructors
 */
export const make = <const H extends Handlers.Handlers<"client", unknown>, R = never>(
  handlers: H & Handlers.Only<H, "client">,
  options: Options<R>
): Effect.Effect<
  ServerSessionShape,
  TransportError,
  Transport | Scope.Scope | Handlers.ServicesOf<H, "client"> | R
> => ServerSessionImplementation.make(handlers, options)

/**
 * Serves one client until its session ends: the main program of a server that runs as a child process.
 *
 * @example
 * ```ts
 * import { Content, McpError } from "@effect-mcp/protocol"
 * import { ServerSession } from "@effect-mcp/session"
 * import { StdioServer } from "@effect-mcp/transport/node"
 * import * as Effect from "effect/Effect"
 *
 * export const main = ServerSession.serve({
 *   "tools/call": ({ name }) =>
 *     name === "greet"
 *       ? Effect.succeed({ content: [Content.text("hello")] })
 *       : Effect.fail(McpError.invalidParams(`Unknown tool: ${name}`))
 * }, { info: { name: "greeter", version: "1.0.0" } }).pipe(Effect.provide(StdioServer.layer()))
 * ```
 *
 * @category constructors
 */
export const serve = <const H extends Handlers.Handlers<"client", unknown>, R = never>(
  handlers: H & Handlers.Only<H, "client">,
  options: Options<R>
): Effect.Effect<
  CloseReason.CloseReason,
  TransportError,
  Transport | Handlers.ServicesOf<H, "client"> | Exclude<R, Scope.Scope>
> => Effect.scoped(Effect.flatMap(make<H, R>(handlers, options), (session) => session.closed))

/**
 * Returns handlers unchanged. Their types are checked here, and not where they are used.
 *
 * @example
 * ```ts
 * import { Content } from "@effect-mcp/protocol"
 * import { ServerSession } from "@effect-mcp/session"
 * import * as Effect from "effect/Effect"
 *
 * const handlers = ServerSession.handlers({
 *   "tools/list": () => Effect.succeed({ tools: [{ name: "greet", inputSchema: { type: "object" } }] }),
 *   "tools/call": () => Effect.succeed({ content: [Content.text("hello")] })
 * })
 *
 * export const main = ServerSession.serve(handlers, { info: { name: "greeter", version: "1.0.0" } })
 * ```
 *
 * @category constructors
 */
export const handlers = <const H extends Handlers.Handlers<"client", unknown>>(
  handlers: H & Handlers.Only<H, "client">
): H => handlers

/**
 * Provides a server in this process as the transport of its client. It can replace a `StdioClient` in the same program.
 * Every build of this Layer makes a new server.
 *
 * @example
 * ```ts
 * import { Content } from "@effect-mcp/protocol"
 * import { ClientSession, ServerSession } from "@effect-mcp/session"
 * import * as Effect from "effect/Effect"
 * import * as Layer from "effect/Layer"
 *
 * const info = { name: "example", version: "1.0.0" }
 * const server = ServerSession.layerMemory({
 *   "tools/call": () => Effect.succeed({ content: [Content.text("42")] })
 * }, { info })
 *
 * export const answer = Effect.gen(function*() {
 *   const session = yield* ClientSession.ClientSession
 *   return yield* session.callTool("answer")
 * }).pipe(Effect.provide(Layer.provide(ClientSession.layer({ info }), server)))
 * // => { content: [{ type: "text", text: "42" }] }
 * ```
 *
 * @category layers
 */
export const layerMemory = <const H extends Handlers.Handlers<"client", unknown>, R = never>(
  handlers: H & Handlers.Only<H, "client">,
  options: Options<R>
): Layer.Layer<
  Transport,
  TransportError,
  Exclude<Exclude<Handlers.ServicesOf<H, "client"> | R, Transport>, Scope.Scope>
> =>
  Layer.fresh(Layer.effect(
    Transport,
    Effect.gen(function*() {
      const pair = yield* MemoryTransport.make()
      yield* make<H, R>(handlers, options).pipe(Effect.provideService(Transport, pair.server), SealInMemory.provide)
      return pair.client
    })
  ))

/**
 * Provides the session, which serves until the Layer is released. Every build of this Layer makes a new session. A
 * constant that composes it with its transport is built once, however often it is provided at the same time, so it is
 * one session. For two sessions, compose them in a function that is called twice, or use `Layer.fresh`.
 *
 * @example
 * ```ts
 * import { ServerSession } from "@effect-mcp/session"
 * import { StdioServer } from "@effect-mcp/transport/node"
 * import * as Effect from "effect/Effect"
 * import * as Layer from "effect/Layer"
 *
 * const server = ServerSession.layer({
 *   "tools/list": () => Effect.succeed({ tools: [] })
 * }, { info: { name: "example", version: "1.0.0" } })
 *
 * export const main = Effect.gen(function*() {
 *   const session = yield* ServerSession.ServerSession
 *   const client = yield* session.profile
 *   yield* session.log({ level: "info", data: `welcome, ${client.info?.name}` })
 *   return yield* session.closed
 * }).pipe(Effect.provide(Layer.provide(server, StdioServer.layerNode())))
 * ```
 *
 * @category layers
 */
export const layer = <const H extends Handlers.Handlers<"client", unknown>, R = never>(
  handlers: H & Handlers.Only<H, "client">,
  options: Options<R>
): Layer.Layer<ServerSession, TransportError, Transport | Handlers.ServicesOf<H, "client"> | Exclude<R, Scope.Scope>> =>
  Layer.fresh(Layer.effect(ServerSession, make<H, R>(handlers, options)))

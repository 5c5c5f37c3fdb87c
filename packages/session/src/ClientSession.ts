/**
 * The session of a client with its server.
 *
 * @stability unstable
 */
import type { Capabilities, Revision } from "@effect-mcp/protocol"
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import type { ClientRequestContext } from "./ClientRequestContext.ts"
import type { Extension } from "./Extension.ts"
import type * as Handlers from "./Handlers.ts"
import type * as HandshakeError from "./HandshakeError.ts"
import type * as Shapes from "./internal/client/ClientSessionShape.ts"
import type { GatedClientTasks } from "./internal/client/ClientTaskGate.ts"
import * as Connecting from "./internal/client/Connecting.ts"
import type * as JsonSchemaValidator from "./JsonSchemaValidator.ts"
import type { Middleware } from "./Middleware.ts"
import type * as Session from "./Session.ts"
import type { Transport } from "./Transport.ts"

/**
 * Options for a client's session.
 *
 * @category models
 */
export interface Options<H = Handlers.Handlers<"server">, R = never> extends Omit<Session.Options, "revisions"> {
  /**
   * The revisions that the client speaks. Default: all revisions of this library. With one without a handshake
   * (2026-07-28), the client first asks the server by `server/discover` whether it serves it (STD-19). If the server
   * does not, the client continues with the handshake of the older ones, or fails if there are none.
   */
  readonly revisions?: readonly [Revision.Revision, ...ReadonlyArray<Revision.Revision>]
  /**
   * Capabilities beyond those that the handlers imply, for example `roots: { listChanged: true }` or
   * `elicitation: { form: {}, url: {} }`.
   */
  readonly capabilities?: Capabilities.ClientCapabilities
  /**
   * The handlers of the server's messages. Handlers of requests (`sampling/createMessage`, `elicitation/create`,
   * `roots/list`) are declared as capabilities, and run with a `ClientRequestContext`.
   */
  readonly handlers?: H
  /**
   * The tasks of the client. It serves their methods, and lets elicitations and requests for messages of its model
   * become tasks, if the server wishes (revision 2025-11-25). Several sessions with the same server may have the same
   * ones.
   */
  readonly tasks?: GatedClientTasks
  /** The handlers of the server's own methods, which are not in the method table. */
  readonly extensions?: ReadonlyArray<Extension<"server" | "either", R | ClientRequestContext | Scope.Scope>>
  /**
   * The middleware of requests in both directions. `subscriptions/listen`, which the client sends by itself, passes
   * none; `subscribeResource` does.
   */
  readonly middleware?: Middleware<R | ClientRequestContext | Scope.Scope, R>
  /**
   * Checks results of tools against their output schemas (TOOL-08), if the negotiated revision has these. The schemas
   * are those of tools that the program has listed, until the server notifies the client that its tools have changed.
   * The client does not list tools by itself. A result is not checked if its tool was not listed, or if its schema was
   * replaced or removed while the call was in flight. Default: results are not checked.
   */
  readonly validator?: JsonSchemaValidator.JsonSchemaValidatorShape
}

/**
 * A session of a client, after its handshake: no value of this type exists before.
 *
 * @category models
 */
export interface ClientSessionShape extends Shapes.ClientSessionShape {}

/**
 * Makes a key for the session with one server, for programs with sessions with several servers.
 *
 * @example
 * ```ts
 * import { ClientSession, type Transport } from "@effect-mcp/session"
 * import * as Effect from "effect/Effect"
 * import * as Layer from "effect/Layer"
 *
 * class Files extends ClientSession.Service<Files>()("app/Files") {}
 * class Search extends ClientSession.Service<Search>()("app/Search") {}
 *
 * const info = { name: "app", version: "1.0.0" }
 * export const both = (files: Layer.Layer<Transport.Transport>, search: Layer.Layer<Transport.Transport>) =>
 *   Layer.merge(
 *     Layer.provide(ClientSession.layerAs(Files, { info }), files),
 *     Layer.provide(ClientSession.layerAs(Search, { info }), search)
 *   )
 *
 * export const program = Effect.gen(function*() {
 *   const files = yield* Files
 *   const search = yield* Search
 *   return [yield* files.listTools(), yield* search.listTools()]
 * })
 * ```
 *
 * @category constructors
 */
export const Service =
  <Self>() => <const Id extends string>(id: Id): Context.ServiceClass<Self, Id, ClientSessionShape> =>
    Context.Service<Self, ClientSessionShape>()(id)

/**
 * The session with the server, for programs with one server.
 *
 * @example
 * ```ts
 * import { ClientSession } from "@effect-mcp/session"
 * import * as Effect from "effect/Effect"
 * import * as Stream from "effect/Stream"
 *
 * // The same for every server and every transport.
 * export const toolNames = Effect.gen(function*() {
 *   const session = yield* ClientSession.ClientSession
 *   return yield* Stream.runCollect(Stream.map(session.tools, ({ name }) => name))
 * })
 * ```
 *
 * @category services
 */
export class ClientSession
  extends Context.Service<ClientSession, ClientSessionShape>()("@effect-mcp/session/ClientSession")
{}

/**
 * Connects, and runs the handshake: sends `initialize`, checks the response, and sends `notifications/initialized`
 * (INIT-01 to INIT-08). If the handshake fails, closes the connection, and then fails with a `HandshakeError`. Leaving
 * the scope closes the session.
 *
 * @example
 * ```ts
 * import { ClientSession, ServerSession } from "@effect-mcp/session"
 * import * as Effect from "effect/Effect"
 *
 * const info = { name: "example", version: "1.0.0" }
 *
 * export const revision = Effect.gen(function*() {
 *   const session = yield* ClientSession.make({ info, revisions: ["2025-06-18"] })
 *   return session.profile.revision
 * }).pipe(Effect.scoped, Effect.provide(ServerSession.layerMemory({}, { info }))) // => "2025-06-18"
 * ```
 *
 * @category constructors
 */
export const make = <
  const H extends Handlers.Handlers<"server", unknown> = Handlers.Handlers<"server">,
  R = never
>(
  options: Options<H, R> & { readonly handlers?: Handlers.Only<H, "server"> }
): Effect.Effect<
  ClientSessionShape,
  HandshakeError.HandshakeError,
  Transport | Scope.Scope | Handlers.ServicesOf<H, "server"> | R
> => Connecting.make(options)

/**
 * Returns handlers unchanged. Their types are checked here, and not where they are used.
 *
 * @example
 * ```ts
 * import { ClientRequestContext, ClientSession } from "@effect-mcp/session"
 * import * as Effect from "effect/Effect"
 *
 * const handlers = ClientSession.handlers({
 *   "elicitation/create": Effect.fnUntraced(function*({ message }) {
 *     const { profile } = yield* ClientRequestContext.ClientRequestContext
 *     yield* Effect.logInfo(`${profile.info.name} requests input: ${message}`)
 *     return { action: "decline" }
 *   })
 * })
 *
 * export const session = ClientSession.layer({ info: { name: "example", version: "1.0.0" }, handlers })
 * ```
 *
 * @category constructors
 */
export const handlers = <const H extends Handlers.Handlers<"server", unknown>>(
  handlers: H & Handlers.Only<H, "server">
): H => handlers

/**
 * Provides the session under the key of one server. Every build of this Layer makes a new session.
 *
 * A constant that composes this Layer with its transport, such as `Layer.provide(layerAs(...), transport)`, is built
 * once, however often it is provided at the same time, so it is one session. For two sessions, compose the Layers in a
 * function that is called twice, or use `Layer.fresh`.
 *
 * @example
 * ```ts
 * import { ClientSession } from "@effect-mcp/session"
 * import { StdioClient } from "@effect-mcp/transport/node"
 * import * as Layer from "effect/Layer"
 *
 * class Files extends ClientSession.Service<Files>()("app/Files") {}
 *
 * // A function, so that each call makes a new session.
 * export const filesIn = (folder: string) =>
 *   Layer.provide(
 *     ClientSession.layerAs(Files, { info: { name: "app", version: "1.0.0" } }),
 *     StdioClient.layerNode({ command: "node", args: ["files.mjs", folder] })
 *   )
 * ```
 *
 * @category layers
 */
export const layerAs = <
  Self,
  const H extends Handlers.Handlers<"server", unknown> = Handlers.Handlers<"server">,
  R = never
>(
  key: Context.Key<Self, ClientSessionShape>,
  options: Options<H, R> & { readonly handlers?: Handlers.Only<H, "server"> }
): Layer.Layer<
  Self,
  HandshakeError.HandshakeError,
  Transport | Handlers.ServicesOf<H, "server"> | Exclude<R, Scope.Scope>
> => Layer.fresh(Layer.effect(key, make(options)))

/**
 * Provides the session. Every build of this Layer makes a new session. A constant that composes it with its transport
 * is one session, see {@link layerAs}. A program changes its transport by providing another Layer.
 *
 * @example
 * ```ts
 * import { ClientSession } from "@effect-mcp/session"
 * import { StdioClient } from "@effect-mcp/transport/node"
 * import * as Effect from "effect/Effect"
 * import * as Layer from "effect/Layer"
 *
 * const session = ClientSession.layer({ info: { name: "example", version: "1.0.0" } })
 *
 * export const program = Effect.gen(function*() {
 *   const calculator = yield* ClientSession.ClientSession
 *   return yield* calculator.callTool("add", { a: 15, b: 27 })
 * }).pipe(
 *   Effect.provide(Layer.provide(session, StdioClient.layerNode({ command: "node", args: ["calculator.ts"] })))
 * )
 * ```
 *
 * @category layers
 */
export const layer = <
  const H extends Handlers.Handlers<"server", unknown> = Handlers.Handlers<"server">,
  R = never
>(
  options: Options<H, R> & { readonly handlers?: Handlers.Only<H, "server"> }
): Layer.Layer<
  ClientSession,
  HandshakeError.HandshakeError,
  Transport | Handlers.ServicesOf<H, "server"> | Exclude<R, Scope.Scope>
> => layerAs(ClientSession, options)

/**
 * The server's side of one conversation.
 *
 * @since 0.1.0
 */
import {
  type Capabilities,
  type CloseReason,
  Handshake,
  type Initialize,
  JsonRpc,
  type Logging,
  McpError,
  Methods,
  type Profile,
  Revision
} from "@effect-mcp/protocol"
import * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Result from "effect/Result"
import type * as Scope from "effect/Scope"
import * as Dispatch from "./Dispatch.ts"
import * as Handlers from "./Handlers.ts"
import * as Core from "./internal/Core.ts"
import * as Reader from "./internal/Reader.ts"
import * as Sender from "./internal/Sender.ts"
import * as ServedContext from "./internal/ServedContext.ts"
import { validate } from "./internal/validation.ts"
import * as Limits from "./Limits.ts"
import * as MemoryTransport from "./MemoryTransport.ts"
import type { RequestError } from "./RequestError.ts"
import type { RequestOptions } from "./RequestOptions.ts"
import * as Session from "./Session.ts"
import { SessionClosed } from "./SessionClosed.ts"
import { type Origin, Transport } from "./Transport.ts"
import type { TransportError } from "./TransportError.ts"

/**
 * What may be said about a server's session.
 *
 * @category models
 * @since 0.1.0
 */
export interface Options extends Session.Options {
  /** How a model should use this server, in its own words. */
  readonly instructions?: string
  /** What the server declares beyond what its handlers show, for example `logging`. */
  readonly capabilities?: Capabilities.ServerCapabilities
  /**
   * Refuse requests until the client has said `notifications/initialized`. Default: the first request counts as saying so,
   * since over some transports it may overtake the notification.
   */
  readonly requireInitialized?: boolean
}

/**
 * A session that reads. Its client may not have introduced itself yet.
 *
 * @category models
 * @since 0.1.0
 */
export interface Shape extends Session.Session<Handshake.ServerState> {
  /** Waits until the client has introduced itself, and says what is known of it. */
  readonly profile: Effect.Effect<Profile.ClientProfile, SessionClosed>
  /**
   * Sends any request a server may send, and waits for its result. Until the client is ready, requests other than ping are
   * held (INIT-10).
   */
  readonly request: <Name extends Methods.RequestName<"server">, R = never>(
    name: Name,
    params: Methods.ParamsOf<Name>,
    options?: RequestOptions<R>
  ) => Effect.Effect<Methods.ResultOf<Name>, RequestError, R>
  /** Asks whether the client is there (PING-01). */
  readonly ping: <R = never>(options?: RequestOptions<R>) => Effect.Effect<void, RequestError, R>
  /** Sends a log message that belongs to no request. Needs the capability `logging` (LOG-01). */
  readonly log: (message: Omit<Logging.LogMessageParams, "_meta">) => Effect.Effect<void, RequestError>
}

/**
 * The session with the client.
 *
 * @category services
 * @since 0.1.0
 */
export class ServerSession extends Context.Service<ServerSession, Shape>()("@effect-mcp/session/ServerSession") {}

/**
 * Connects and begins to serve; returns at once, before any client has spoken. Each request runs its handler in a fiber of
 * its own, with a `RequestContext`. Leaving the scope closes the session.
 *
 * @category constructors
 * @since 0.1.0
 */
export const make = Effect.fnUntraced(function*<const H extends Handlers.Handlers<"client", unknown>>(
  handlers: H & Handlers.Only<H, "client">,
  options: Options
): Effect.fn.Return<Shape, TransportError, Transport | Scope.Scope | Handlers.ServicesOf<H>> {
  const revisions = options.revisions ?? Revision.supported
  const fallback = Session.newest(revisions) ?? Revision.latest
  const capabilities: Capabilities.ServerCapabilities = {
    ...Handlers.serverCapabilities(handlers),
    ...options.capabilities
  }
  const introduced = Deferred.makeUnsafe<Profile.ClientProfile, SessionClosed>()
  let profile: Profile.ClientProfile | undefined

  const core = yield* Core.make<Handshake.ServerState>({
    role: "server",
    transition: (options.requireInitialized ? Handshake.strictServer : Handshake.server).transition,
    initial: { _tag: "Opening" },
    firstId: 1,
    onEnd: (reason) => Deferred.doneUnsafe(introduced, Exit.fail(new SessionClosed({ reason })))
  }, { limits: Limits.make(options.limits), observe: options.observe })
  const sender = Sender.make(core, { profile: () => profile, declared: capabilities })

  const refuse = (request: JsonRpc.Request, error: McpError.McpError, origin: Origin | undefined) => {
    core.emit({ _tag: "Refused", method: request.method, id: request.id, code: error.code })
    sender.reply(JsonRpc.failure(request.id, error), origin)
  }

  const initialize = (request: JsonRpc.Request, origin: Origin | undefined) => {
    const params = validate(Methods.requests.initialize.params)(request.params ?? {})
    if (Result.isFailure(params)) {
      const outcome = core.happen({ _tag: "ReceiveInvalidInitialize" })
      const error = outcome._tag === "Moved" && outcome.does === "RefuseParams"
        ? McpError.invalidParams(`Invalid params for initialize: ${params.failure}`)
        : McpError.invalidRequest("The session is initialized already")
      return refuse(request, error, origin)
    }
    const { capabilities: declared, clientInfo, protocolVersion } = params.success
    const revision = revisions.find((revision) => revision === protocolVersion) ?? fallback
    const client: Profile.ClientProfile = { revision, capabilities: declared, info: clientInfo }
    const outcome = core.happen({ _tag: "ReceiveInitialize", profile: client })
    if (outcome._tag !== "Moved" || outcome.does !== "Answer") {
      return refuse(request, McpError.invalidRequest("The session is initialized already"), origin)
    }
    profile = client
    const result: Initialize.InitializeResult = {
      protocolVersion: revision,
      capabilities,
      serverInfo: options.info,
      ...(options.instructions === undefined ? undefined : { instructions: options.instructions })
    }
    // The machine moves first, since a transport may bring the client's next words before the call returns.
    core.happen({ _tag: "SendInitializeResult" })
    sender.reply(JsonRpc.success(request.id, result), origin)
    core.connection.established?.(client)
    Deferred.doneUnsafe(introduced, Exit.succeed(client))
  }

  const initialized = (notification: JsonRpc.Notification) => {
    const outcome = core.happen({ _tag: "ReceiveInitialized" })
    if (outcome._tag === "Moved" && outcome.does === "Release") return sender.release()
    core.emit({
      _tag: "NotificationIgnored",
      method: notification.method,
      problem: `not expected while ${core.state()._tag}`
    })
  }

  core.read(Reader.make(core, {
    sender,
    dispatch: Dispatch.make("client", handlers),
    profile: () => profile,
    contextOf: ServedContext.make(sender, core.emit),
    intercept: (message, origin) => {
      // The answer takes its place in the outbox in this same step, ahead of all that is pipelined behind the request, and of
      // whatever an observer of the new state may say.
      if (message.method === "initialize" && "id" in message) core.quietly(() => initialize(message, origin))
      else if (message.method === "notifications/initialized" && !("id" in message)) initialized(message)
      else return false
      return true
    }
  }))

  const { notifications, requests } = Methods
  const session: Shape = {
    ...Core.session(core),
    profile: Deferred.await(introduced),
    request: (name, params, options) => sender.request(requests[name], params, options),
    ping: (options) => Effect.asVoid(sender.request(requests.ping, {}, options)),
    log: (message) => sender.notify(notifications["notifications/message"], message)
  }
  return session
})

/**
 * Serves one client, from beginning to end: the main program of a server that runs as a child process.
 *
 * @example
 * ```ts
 * import { Content, McpError } from "@effect-mcp/protocol"
 * import { ServerSession } from "@effect-mcp/session"
 * import { StdioServer } from "@effect-mcp/transport"
 * import * as Effect from "effect/Effect"
 *
 * export const main = ServerSession.serve({
 *   "tools/call": ({ name }) =>
 *     name === "greet"
 *       ? Effect.succeed({ content: [Content.text("hello")] })
 *       : Effect.fail(McpError.invalidParams(`Unknown tool: ${name}`))
 * }, { info: { name: "greeter", version: "1.0.0" } }).pipe(Effect.provide(StdioServer.layer))
 * ```
 *
 * @category constructors
 * @since 0.1.0
 */
export const serve = <const H extends Handlers.Handlers<"client", unknown>>(
  handlers: H & Handlers.Only<H, "client">,
  options: Options
): Effect.Effect<
  CloseReason.CloseReason,
  TransportError,
  Transport | Exclude<Handlers.ServicesOf<H>, Scope.Scope>
> => Effect.scoped(Effect.flatMap(make<H>(handlers, options), (session) => session.closed))

/**
 * Handlers on their own, checked where they are written rather than where they are used.
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
 * @since 0.1.0
 */
export const handlers = <const H extends Handlers.Handlers<"client", unknown>>(
  handlers: H & Handlers.Only<H, "client">
): H => handlers

/**
 * A server in this process, as the transport that leads a client to it. Put it where a `StdioClient` stood, and the same
 * program talks to these handlers.
 *
 * @example
 * ```ts
 * import { Content } from "@effect-mcp/protocol"
 * import { ClientSession, ServerSession } from "@effect-mcp/session"
 * import * as Effect from "effect/Effect"
 * import * as Layer from "effect/Layer"
 *
 * const info = { name: "example", version: "1.0.0" }
 * const server = ServerSession.layerInProcess({
 *   "tools/call": () => Effect.succeed({ content: [Content.text("42")] })
 * }, { info })
 *
 * export const answer = Effect.gen(function*() {
 *   const session = yield* ClientSession.ClientSession
 *   return yield* session.callTool("answer")
 * }).pipe(Effect.provide(Layer.provide(ClientSession.layer({ info }), server)))
 * ```
 *
 * @category layers
 * @since 0.1.0
 */
export const layerInProcess = <const H extends Handlers.Handlers<"client", unknown>>(
  handlers: H & Handlers.Only<H, "client">,
  options: Options
): Layer.Layer<Transport, TransportError, Exclude<Exclude<Handlers.ServicesOf<H>, Transport>, Scope.Scope>> =>
  Layer.fresh(Layer.effect(
    Transport,
    Effect.gen(function*() {
      const pair = yield* MemoryTransport.make()
      yield* make<H>(handlers, options).pipe(Effect.provideService(Transport, pair.server))
      return pair.client
    })
  ))

/**
 * The session as a Layer: it serves while the Layer is there. Every build makes a session of its own.
 *
 * @category layers
 * @since 0.1.0
 */
export const layer = <const H extends Handlers.Handlers<"client", unknown>>(
  handlers: H & Handlers.Only<H, "client">,
  options: Options
): Layer.Layer<ServerSession, TransportError, Transport | Exclude<Handlers.ServicesOf<H>, Scope.Scope>> =>
  Layer.fresh(Layer.effect(ServerSession, make<H>(handlers, options)))

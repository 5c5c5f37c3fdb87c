/**
 * The server's side of one conversation.
 *
 * @since 0.1.0
 */
import type {
  Capabilities,
  CloseReason,
  Elicitation,
  ElicitationSchema,
  Handshake,
  JsonRpc,
  Logging,
  Meta,
  MethodDefinition,
  MethodTable,
  Profile,
  Progress,
  RequestId,
  Revision,
  Roots,
  Sampling,
  Task
} from "@effect-mcp/protocol"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import type * as Stream from "effect/Stream"
import type { Extension } from "./Extension.ts"
import type * as Handlers from "./Handlers.ts"
import * as SessionRuntime from "./internal/engine/SessionRuntime.ts"
import * as ServedSession from "./internal/server/ServedSession.ts"
import * as MemoryTransport from "./MemoryTransport.ts"
import type { Middleware } from "./Middleware.ts"
import type { RequestContext } from "./RequestContext.ts"
import type { RequestError } from "./RequestError.ts"
import type { RequestOptions } from "./RequestOptions.ts"
import type * as Session from "./Session.ts"
import type { SessionClosed } from "./SessionClosed.ts"
import { Transport } from "./Transport.ts"
import type { TransportError } from "./TransportError.ts"

/**
 * What may be said about a server's session.
 *
 * @category models
 * @since 0.1.0
 */
export interface Options<R = never> extends Session.Options {
  /** How a model should use this server, in its own words. */
  readonly instructions?: string
  /**
   * What the server declares beyond what its handlers show, for example `tools: { listChanged: true }`. `logging` is
   * declared unless it is `false`; then messages to be logged fail.
   */
  readonly capabilities?: Handlers.ServerDeclarations
  /**
   * Refuse requests until the client has said `notifications/initialized`. Default: the first request counts as saying so,
   * since over some transports it may overtake the notification.
   */
  readonly requireInitialized?: boolean
  /**
   * Serve without a session: from the first message on, with nothing known of whoever asks, and each request for itself. What
   * it is taken to be in has to be said, since no handshake says it. `initialize` is answered with that revision and changes
   * nothing; requests of the server, ping included, fail with `StatelessModeNotSupported`. Default: a session, which begins with a handshake.
   */
  readonly sessionless?: { readonly revision: Revision.Revision }
  /** Methods of the client's own that the server handles. */
  readonly extensions?: ReadonlyArray<Extension<"client" | "either", R | RequestContext | Scope.Scope>>
  /** What requests pass on their way to their handlers, and out to the client. */
  readonly middleware?: Middleware<R | RequestContext | Scope.Scope, R>
}

/**
 * What may be said about a message of the server: which of the client's requests it belongs to. Without one it takes the
 * standalone stream, where the transport has such. Inside a handler use `RequestContext`, which knows.
 *
 * @category models
 * @since 0.1.0
 */
export interface Related {
  readonly relatedRequestId?: RequestId.RequestId
}

/**
 * What may be said about a question of the server.
 *
 * @category models
 * @since 0.1.0
 */
export interface AskOptions<R = never> extends RequestOptions<R>, Related {}

/**
 * What may be said about a request that is built but not sent.
 *
 * @category models
 * @since 0.1.0
 */
export interface BuildOptions {
  /** The task it belongs to: it goes into `_meta`, and the id is a text that names the task. */
  readonly relatedTaskId?: string
  /** What makes a task of it. */
  readonly task?: Task.TaskMetadata
}

/**
 * A session that reads. Its client may not have introduced itself yet.
 * Its members are made when they are looked at, and a spread (`{ ...session }`) has none of them.
 *
 * @category models
 * @since 0.1.0
 */
export interface Shape extends Session.Session<State> {
  /** Waits until the client has introduced itself, and says what is known of it. */
  readonly profile: Effect.Effect<Profile.ClientProfile, SessionClosed>
  /**
   * The revision that the client asked for in `initialize`, which need not be the one that was agreed on: its first 64
   * characters. In a restored session it is the agreed one. `undefined` without sessions.
   */
  readonly requestedRevision: Effect.Effect<string | undefined, SessionClosed>
  /**
   * The `_meta` of the client's `initialize`. `undefined` without sessions, and if it takes more than 4 KiB of memory.
   */
  readonly initializeMeta: Effect.Effect<Meta.RequestMeta | undefined, SessionClosed>
  /**
   * Returns whether the client has declared all of this, as `Capabilities.covers` compares it. What is not required
   * does not matter. `false`, whatever is required, before the client has introduced itself, and without sessions.
   */
  readonly hasCapability: (required: Capabilities.ClientCapabilities) => Effect.Effect<boolean>
  /**
   * Sends any request a server may send, and waits for its result. Until the client is ready, requests other than ping are
   * held (INIT-10).
   */
  readonly request: <Name extends MethodTable.RequestName<"server">, R = never>(
    name: Name,
    params: MethodTable.ParamsOf<Name>,
    options?: AskOptions<R>
  ) => Effect.Effect<MethodTable.ResultOf<Name>, RequestError, R>
  /** Sends a request of a method that is not in the table, by a row of your own. */
  readonly extension: <Params extends object, Result, R = never>(
    row: MethodDefinition.RequestMethod<string, "server" | "either", Params, Result>,
    params: Params,
    options?: AskOptions<R>
  ) => Effect.Effect<Result, RequestError, R>
  /** Asks whether the client is there (PING-01). */
  readonly ping: <R = never>(options?: AskOptions<R>) => Effect.Effect<void, RequestError, R>
  /**
   * Asks the client's model for a message. Tools and a choice among them need the client's `sampling.tools` (SMP-02),
   * and uses of tools must match their results (SMP-03, SMP-04). Without `tools` the answer is one piece of text, image
   * or audio; any other fails with `InvalidResult`.
   */
  readonly createMessage: {
    <R = never>(
      params: Sampling.CreateMessageParamsWithoutTools,
      options?: AskOptions<R>
    ): Effect.Effect<Sampling.CreateMessageResultWithoutTools, RequestError, R>
    <R = never>(
      params: Sampling.CreateMessageParams,
      options?: AskOptions<R>
    ): Effect.Effect<Sampling.CreateMessageResult, RequestError, R>
  }
  /** Asks where the client lets the server work. */
  readonly listRoots: <R = never>(options?: AskOptions<R>) => Effect.Effect<Roots.ListRootsResult, RequestError, R>
  /** Asks the client's user by a form. */
  readonly elicitForm: <R = never>(
    message: string,
    form: ElicitationSchema.ElicitationSchema,
    options?: AskOptions<R>
  ) => Effect.Effect<Elicitation.ElicitResult, RequestError, R>
  /** Asks the client's user to visit a page (ELI-10). */
  readonly elicitUrl: <R = never>(
    message: string,
    page: { readonly url: string; readonly elicitationId: string },
    options?: AskOptions<R>
  ) => Effect.Effect<Elicitation.ElicitResult, RequestError, R>
  /**
   * Asks by a form.
   *
   * @deprecated since it is named like both kinds: use `elicitForm`.
   */
  readonly elicit: Shape["elicitForm"]
  /** Says that a page has been dealt with, so that what waited for it may be tried again (ELI-12). */
  readonly elicitationComplete: (elicitationId: string, options?: Related) => Effect.Effect<void, RequestError>
  /**
   * Sends a log message, unless it is milder than what the client wants to hear of (LOG-02). Needs the capability `logging`
   * (LOG-01).
   */
  readonly log: (
    message: Omit<Logging.LogMessageParams, "_meta">,
    options?: Related
  ) => Effect.Effect<void, RequestError>
  /** Reports a step of progress of the request that brought this token. Inside a handler, `RequestContext` does it. */
  readonly progress: (
    token: Meta.ProgressToken,
    step: Progress.Progress,
    options?: Related
  ) => Effect.Effect<void, RequestError>
  /** Says that a resource has changed, to a client that subscribed to it (RES-03). */
  readonly resourceUpdated: (uri: string) => Effect.Effect<void, RequestError>
  /** Says that the list has changed. Needs the capability `resources.listChanged`. */
  readonly resourceListChanged: Effect.Effect<void, RequestError>
  /** Says that the list has changed. Needs the capability `tools.listChanged` (TOOL-02). */
  readonly toolListChanged: Effect.Effect<void, RequestError>
  /** Says that the list has changed. Needs the capability `prompts.listChanged` (PRM-02). */
  readonly promptListChanged: Effect.Effect<void, RequestError>
  /**
   * The client's notifications of one kind, from when the stream is run and until the session ends; a follower that lags by
   * more than `Limits` lets it loses the oldest. What a handler is given is in the stream, too. A stream that is forked misses what comes
   * before its fiber has begun: fork it with `startImmediately`.
   */
  readonly notifications: <Name extends Handlers.NotificationName<"client">>(
    name: Name
  ) => Stream.Stream<MethodTable.NotificationParamsOf<Name>>
  /** Sends a message as it is: no gate, no matching. Its response, if it is a request, will be reported as unmatched. */
  readonly send: (message: JsonRpc.Message, options?: Related) => Effect.Effect<void, RequestError>
  /** Builds the request that `createMessage` would send, with an id of its own, and does not send it. */
  readonly buildCreateMessage: (params: Sampling.CreateMessageParams, options?: BuildOptions) => JsonRpc.Request
  /** Builds the request that `elicitForm` would send, and does not send it. */
  readonly buildElicitForm: (
    message: string,
    form: ElicitationSchema.ElicitationSchema,
    options?: BuildOptions
  ) => JsonRpc.Request
  /** Builds the request that `elicitUrl` would send, and does not send it. */
  readonly buildElicitUrl: (
    message: string,
    page: { readonly url: string; readonly elicitationId: string },
    options?: BuildOptions
  ) => JsonRpc.Request
}

/**
 * The session with the client.
 *
 * @example
 * ```ts
 * import { ServerSession } from "@effect-mcp/session"
 * import * as Effect from "effect/Effect"
 *
 * // Said on the server's own account, whether a request is being served or not.
 * export const announce = Effect.gen(function*() {
 *   const session = yield* ServerSession.ServerSession
 *   yield* session.toolListChanged
 * })
 * ```
 *
 * @category services
 * @since 0.1.0
 */
export class ServerSession extends Context.Service<ServerSession, Shape>()("@effect-mcp/session/ServerSession") {}

/**
 * The states of a server, with or without sessions.
 *
 * @category models
 * @since 0.1.0
 */
export type State = Handshake.ServerState | Handshake.SessionlessServerState

/**
 * Connects and begins to serve; returns at once, before any client has spoken. Each request runs its handler in a fiber of
 * its own, with a `RequestContext`. `initialize` is answered with the revision it asks for, or with the newest of this side's
 * (INIT-04, INIT-05, INIT-07). Fails with a `TransportError` if there is no connection. Leaving the scope closes the session.
 *
 * @example
 * ```ts
 * import { Content } from "@effect-mcp/protocol"
 * import { ServerSession } from "@effect-mcp/session"
 * import { StdioServer } from "@effect-mcp/transport"
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
 * @since 0.1.0
 */
export const make = Effect.fnUntraced(function*<const H extends Handlers.Handlers<"client", unknown>, R = never>(
  handlers: H & Handlers.Only<H, "client">,
  options: Options<R>
): Effect.fn.Return<Shape, TransportError, Transport | Scope.Scope | Handlers.ServicesOf<H, "client"> | R> {
  const prepared = ServedSession.prepare(handlers, options)
  return yield* prepared.open(yield* SessionRuntime.surroundings)
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
 * }, { info: { name: "greeter", version: "1.0.0" } }).pipe(Effect.provide(StdioServer.layer()))
 * ```
 *
 * @category constructors
 * @since 0.1.0
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
 * program talks to these handlers. Every build of this Layer makes a server of its own.
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
 * // => { content: [{ type: "text", text: "42" }] }
 * ```
 *
 * @category layers
 * @since 0.1.0
 */
export const layerInProcess = <const H extends Handlers.Handlers<"client", unknown>, R = never>(
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
      yield* make<H, R>(handlers, options).pipe(Effect.provideService(Transport, pair.server))
      return pair.client
    })
  ))

/**
 * The session as a Layer: it serves while the Layer is there. Every build of this Layer makes a session of its own. A constant
 * composed of it and its transport is built once however often it is provided at the same time, and so it is one session; for
 * two, compose them in a function that is called twice, or put `Layer.fresh` around the composition.
 *
 * @example
 * ```ts
 * import { ServerSession } from "@effect-mcp/session"
 * import { StdioServer } from "@effect-mcp/transport"
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
 * @since 0.1.0
 */
export const layer = <const H extends Handlers.Handlers<"client", unknown>, R = never>(
  handlers: H & Handlers.Only<H, "client">,
  options: Options<R>
): Layer.Layer<ServerSession, TransportError, Transport | Handlers.ServicesOf<H, "client"> | Exclude<R, Scope.Scope>> =>
  Layer.fresh(Layer.effect(ServerSession, make<H, R>(handlers, options)))

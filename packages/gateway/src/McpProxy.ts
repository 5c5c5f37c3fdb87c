/**
 * Another server as a group of this one: its tools, resources, templates, prompts and completions.
 *
 * @stability unstable
 */
import { SupervisedSessions, SupervisedTransport } from "@effect-mcp/client/internal"
import { type Capabilities, McpError, type MethodTable, Revision } from "@effect-mcp/protocol"
import { LoadedPackages } from "@effect-mcp/protocol/internal"
import { GroupRegistration, GroupRuntime } from "@effect-mcp/server/internal"
import type * as McpGroup from "@effect-mcp/server/McpGroup"
import type * as McpMiddleware from "@effect-mcp/server/McpMiddleware"
import { McpServer } from "@effect-mcp/server/McpServer"
import * as ClientRequestContext from "@effect-mcp/session/ClientRequestContext"
import * as ClientSession from "@effect-mcp/session/ClientSession"
import type * as Handlers from "@effect-mcp/session/Handlers"
import type * as HandshakeError from "@effect-mcp/session/HandshakeError"
import { NumericOption } from "@effect-mcp/session/internal"
import type * as RequestError from "@effect-mcp/session/RequestError"
import type * as RequestOptions from "@effect-mcp/session/RequestOptions"
import type * as Session from "@effect-mcp/session/Session"
import type * as SessionEvent from "@effect-mcp/session/SessionEvent"
import { Transport } from "@effect-mcp/session/Transport"
import type * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as FiberSet from "effect/FiberSet"
import * as Layer from "effect/Layer"
import * as Schedule from "effect/Schedule"
import * as Scope from "effect/Scope"
import * as Askers from "./internal/Askers.ts"
import { ClientSessions } from "./internal/ClientSessions.ts"
import * as ProxiedGroup from "./internal/ProxiedGroup.ts"
import * as RemoteErrors from "./internal/RemoteErrors.ts"
import { thisPackage } from "./internal/thisPackage.ts"
import { trust } from "./internal/trust.ts"

/**
 * Options of the members of a proxied server.
 *
 * @category models
 */
export interface ListOptions {
  /** The members that are read of each list. Further ones are left out, with a warning. Default 1,000. */
  readonly maxMembers?: number
  /** The characters of JSON that are read of each list. Default 4,194,304. */
  readonly maxCharacters?: number
  /** The time to read a list. Members that arrive later are left out, with a warning. Default 30 seconds. */
  readonly listTimeout?: Duration.Input
  /**
   * The time that the server has for a request of a client, and the client for a request of the server. Progress
   * extends the former. Default 10 minutes.
   */
  readonly timeout?: Duration.Input
  /**
   * `false` rejects URIs that are in no list of the server. By default, the server itself decides about them. The proxy
   * matches URIs of at most 1,024 characters, and templates of at most 8 variables and 128 characters, 2,048 characters
   * together: with `false`, others are not found.
   */
  readonly unlisted?: false
}

/**
 * Options of {@link layer}: those of the sessions with the server, and of its members.
 *
 * @category models
 */
export interface Options extends Omit<Session.Options, "revisions">, ListOptions {
  /** The revisions that the proxy speaks with the server. Default: all revisions of this library. */
  readonly revisions?: NonNullable<ClientSession.Options["revisions"]>
  /**
   * `"each"` opens a session with the server for each session of a client, when it is first needed, beside one session
   * for the lists and subscriptions. `"shared"` uses one session for all. Default `"each"`.
   */
  readonly sessions?: "each" | "shared"
  /** The greatest number of sessions for clients. One more client gets the error −31010. Default 256. */
  readonly maxSessions?: number
  /**
   * The greatest number of sessions for the clients of one principal. All anonymous clients together have the same
   * number. One more client gets the error −31010. Default: a quarter of `maxSessions`, at least 1. If all clients have
   * the same principal, or none has a principal, set this option to the value of `maxSessions`.
   */
  readonly maxSessionsPerPrincipal?: number
  /**
   * The requests of the server that are forwarded to a client. For a session of a client, the proxy declares those of
   * them that the client has declared; for a shared session, all of them, with elicitation by forms. Default: all.
   */
  readonly answers?: ReadonlyArray<"elicitation" | "sampling" | "roots">
}

const defaults = {
  maxRounds: 16,
  maxMembers: 1_000,
  maxCharacters: 4_194_304,
  listTimeout: Duration.seconds(30),
  timeout: Duration.minutes(10)
}

const listRules: NumericOption.Rules<ListOptions> = {
  maxMembers: NumericOption.countFromZero,
  maxCharacters: NumericOption.countFromZero,
  listTimeout: NumericOption.duration,
  timeout: NumericOption.duration
}

const rules: NumericOption.Rules<Options> = {
  ...listRules,
  maxSessions: NumericOption.countFromZero,
  maxSessionsPerPrincipal: NumericOption.countFromZero
}

const groupOptions = (options: ListOptions & Pick<Session.Options, "limits">): ProxiedGroup.Options => ({
  maxRounds: options.limits?.maxRounds ?? defaults.maxRounds,
  timeout: options.timeout ?? defaults.timeout,
  readsUnlisted: options.unlisted !== false
})

/** The capabilities of a proxy whose clients share a session, so that it does not know theirs. */
const everything: Capabilities.ClientCapabilities = { elicitation: {}, sampling: {}, roots: {} }

/** Returns the capabilities that the proxy declares to the server: those of the client that are forwarded. */
const declared = (
  { elicitation, roots, sampling }: Capabilities.ClientCapabilities,
  { answers }: Options
): Capabilities.ClientCapabilities => {
  const has = (answer: "elicitation" | "sampling" | "roots") => answers?.includes(answer) ?? true
  return {
    ...(elicitation === undefined || !has("elicitation") ? undefined : { elicitation }),
    ...(sampling === undefined || !has("sampling") ? undefined : { sampling }),
    ...(roots === undefined || !has("roots") ? undefined : { roots })
  }
}

/** Returns the handlers of the server's requests: each is forwarded to its client, or else rejected. */
const handlersFor = (
  id: string,
  asker: Askers.Asker,
  capabilities: Capabilities.ClientCapabilities,
  { timeout = defaults.timeout }: Options
) => {
  const forward = <Name extends Askers.AskedMethod>(name: Name, params: MethodTable.ParamsOf<Name>) =>
    Effect.flatMap(Effect.all([asker.decide, ClientRequestContext.ClientRequestContext]), ([ask, request]) => {
      if (ask === undefined) {
        return Effect.fail(McpError.invalidRequest(
          `${name}: the proxy does not know which of its clients this request belongs to`
        ))
      }
      const options: RequestOptions.RequestOptions = {
        timeout,
        ...(request.meta?.progressToken === undefined ? undefined : { onProgress: (step) => request.progress(step) })
      }
      return Effect.catch(ask(name, params, options), RemoteErrors.failing(`client of ${id}`))
    })
  const { complete, log } = asker
  const handlers: Handlers.Handlers<"server", ClientRequestContext.ClientRequestContext> = {
    ...(capabilities.elicitation === undefined
      ? undefined
      : { "elicitation/create": (params) => forward("elicitation/create", params) }),
    ...(capabilities.sampling === undefined
      ? undefined
      : { "sampling/createMessage": (params) => forward("sampling/createMessage", params) }),
    ...(capabilities.roots === undefined
      ? undefined
      : { "roots/list": (params) => forward("roots/list", params) }),
    ...(complete === undefined
      ? undefined
      : { "notifications/elicitation/complete": ({ elicitationId }) => complete(elicitationId) }),
    ...(log === undefined ? undefined : { "notifications/message": (message) => log(message) })
  }
  return handlers
}

/** Supervises the session of the lists. Fails as its first attempt does. */
const supervise = Effect.fnUntraced(function*<E>(
  name: string,
  connect: (
    observe: (event: SessionEvent.SessionEvent) => void
  ) => Effect.Effect<ClientSession.ClientSessionShape, E, Scope.Scope>,
  options: ListOptions,
  supervision: SupervisedSessions.Options = {}
) {
  const connected = yield* Deferred.make<ClientSession.ClientSessionShape, E>()
  const remote = yield* SupervisedSessions.make({
    name,
    connect: (observe) => Effect.onError(connect(observe), (cause) => Deferred.failCause(connected, cause)),
    prepare: (session) => Effect.asVoid(Deferred.succeed(connected, session)),
    bounds: {
      maxMembers: options.maxMembers ?? defaults.maxMembers,
      maxCharacters: options.maxCharacters ?? defaults.maxCharacters,
      listTimeout: options.listTimeout ?? defaults.listTimeout
    }
  }, supervision)
  return { remote, first: yield* Deferred.await(connected) }
})

/** A group without members. Its id and its middleware are those of the proxied group. */
type EmptyGroup<M extends ReadonlyArray<McpMiddleware.AnyService>> = McpGroup.McpGroup<never, M>

/** The middleware of the group, and the services that it needs from elsewhere. */
type MiddlewareServices<M extends ReadonlyArray<McpMiddleware.AnyService>> =
  | M[number]["Identifier"]
  | McpGroup.Remaining<never, M>

const idOf = (group: string | Pick<McpGroup.AnyGroup, "id">): string => typeof group === "string" ? group : group.id

/** Registers the group of the connections. */
const register = Effect.fnUntraced(function*(
  group: string | Pick<McpGroup.AnyGroup, "middlewares">,
  proxied: ProxiedGroup.Proxied,
  options: ListOptions & Pick<Session.Options, "limits">
) {
  const server = yield* McpServer
  const context = yield* Effect.context<never>()
  const middlewares = typeof group === "string" ? [] : group.middlewares
  const { id } = proxied
  const runtime = middlewares.length === 0
    ? undefined
    : new GroupRuntime(
      id,
      server.mount,
      GroupRegistration.implementationsOf(id, middlewares, context),
      context
    )
  yield* ProxiedGroup.make(proxied, server, groupOptions(options), runtime)
})

/**
 * Proxies the server of a transport: registers its tools, resources, templates, prompts and completions as a group with
 * this id, and keeps them current when its lists change. Results, errors, progress and cancellations pass through.
 * Fails if the server cannot be reached or its lists cannot be read.
 *
 * A group without members in place of the id gives the proxied members its middleware:
 * `McpGroup.make("weather").middleware(Limited)`. The middleware runs around each request that the proxy forwards, and
 * decides about subscriptions; its services do not reach the server.
 *
 * Every client session has its own session with the server (option `sessions`). So the server's requests (elicitation,
 * sampling, roots) and log messages reach the client that they belong to, and no other. With `"shared"`, such a request
 * is forwarded only if one client session alone has used the server within a minute; otherwise it is rejected with
 * −32600, and log messages are dropped. The transport authenticates the proxy: a token of a client is never forwarded.
 * Secrets of the transport that an error of the server repeats do not reach a client, except in the `data` of −32021,
 * −32022 and −32042. Results are not changed.
 *
 * A server of revision 2026-07-28 asks in its answers to calls. These questions always reach the client of the call,
 * whatever its revision is; clients without sessions share one with the server for all that have the same capabilities.
 * A server of an older revision can ask only a client with a session of its own. So a server with such a proxy serves
 * the older revisions, unless its option `revisions` names others: then clients of 2026-07-28 use the tools that do not
 * ask.
 *
 * The session of the lists is supervised as those of `McpClient` are: if the server ends it, or does not answer a
 * health check, the proxy reconnects after delays that grow to 30 seconds. Meanwhile the members stay.
 *
 * Members whose names are not allowed (TOOL-10), or belong to another group, are left out with a warning.
 * `McpMount.prefixed` avoids such clashes. So are tools that run as tasks only (revision 2025-11-25), because a proxy
 * passes no tasks on.
 *
 * @example
 * ```ts
 * import { McpProxy } from "@effect-mcp/gateway"
 * import { McpMount, McpServer } from "@effect-mcp/server"
 * import { StdioClient, StreamableHttpClient } from "@effect-mcp/transport/node"
 * import * as Layer from "effect/Layer"
 *
 * const info = { name: "gateway", version: "1.0.0" }
 * const weather = McpProxy.layer("weather", StreamableHttpClient.layerNode({ url: "https://weather.example/mcp" }), {
 *   info
 * })
 * const files = McpProxy.layer("files", StdioClient.layerNode({ command: "node", args: ["files.mjs"] }), {
 *   info,
 *   sessions: "shared"
 * })
 *
 * export const gateway = McpServer.layerHost(
 *   Layer.merge(McpMount.prefixed("weather", weather), McpMount.prefixed("files", files)),
 *   { info }
 * )
 * ```
 *
 * @category layers
 */
export const layer = <E, R, M extends ReadonlyArray<McpMiddleware.AnyService> = readonly []>(
  group: string | EmptyGroup<M>,
  transport: Layer.Layer<Transport, E, R>,
  options: Options
): Layer.Layer<
  never,
  E | HandshakeError.HandshakeError | RequestError.RequestError,
  McpServer | Exclude<R, Scope.Scope> | MiddlewareServices<M>
> =>
  Layer.effectDiscard(Effect.gen(function*() {
    LoadedPackages.check(thisPackage)
    const id = idOf(group)
    // The builder of a Layer provides its scope, which the type of the result leaves out.
    const context = trust<Context.Context<R>>(yield* Effect.context<Exclude<R, Scope.Scope>>())
    NumericOption.check(options, rules)
    const { maxSessions = 256, sessions } = options
    const { maxSessionsPerPrincipal = Math.max(1, Math.floor(maxSessions / 4)) } = options
    const hiding = Layer.provide(Layer.effect(Transport, Effect.map(Transport, RemoteErrors.hiding)), transport)
    const connect = (
      asker: Askers.Asker,
      client: Capabilities.ClientCapabilities,
      observe?: (event: SessionEvent.SessionEvent) => void
    ) => {
      const capabilities = declared(client, options)
      return ClientSession.make({
        ...options,
        capabilities,
        handlers: handlersFor(id, asker, capabilities, options),
        observe: (event) => {
          observe?.(event)
          options.observe?.(event)
        }
      })
    }
    const asker = sessions === "shared" ? Askers.shared() : Askers.none
    const own = sessions === "shared" ? everything : {}
    // It closes after the session, because it is made before.
    const port = new SupervisedTransport(hiding, context, yield* Scope.fork(yield* Effect.scope))
    const { first, remote } = yield* supervise(
      id,
      (observe) => port.connect(connect(asker, own, observe)),
      options
    )
    if (sessions !== "shared" && Revision.isLegacy(first.profile.revision) && options.answers?.length !== 0) {
      const reason = `the server of the proxy "${id}" asks its clients in sessions`
      yield* Effect.flatMap(McpServer, (server) => server.needsSessions({ reason, isRequired: false }))
    }
    const clients = sessions === "shared" ? undefined : new ClientSessions({
      server: id,
      bounds: { max: maxSessions, maxPerPrincipal: maxSessionsPerPrincipal },
      connect: (asker, capabilities) =>
        // The fiber of a session has the services of the proxy.
        trust<Effect.Effect<ClientSession.ClientSessionShape, unknown, Scope.Scope>>(
          // Each session has a transport of its own, although all of them come from one Layer.
          Effect.flatMap(
            Layer.build(Layer.fresh(hiding)),
            (built) => Effect.provideContext(connect(asker, capabilities), built)
          )
        ),
      fork: yield* FiberSet.makeRuntime()
    })
    yield* register(group, { id, remote, first, asker, passesQuestions: true, clients }, options)
  }))

/**
 * Proxies the server of a session that the program has, as {@link layer} does with one session for all clients. The
 * server's requests are answered by the handlers of that session, and never reach a client of the proxy.
 *
 * @example
 * ```ts
 * import { McpProxy } from "@effect-mcp/gateway"
 * import { McpGroup, McpResource, McpServer } from "@effect-mcp/server"
 * import { ClientSession } from "@effect-mcp/session"
 * import * as Effect from "effect/Effect"
 * import * as Layer from "effect/Layer"
 *
 * const Motto = McpGroup.make("motto", McpResource.make("motto", { uri: "app://motto" }))
 * const MottoLive = Motto.toLayer((handlers) => handlers.resource("motto", Effect.succeed("Festina lente")))
 * const info = { name: "example", version: "1.0.0" }
 *
 * const remote = Layer.provide(ClientSession.layer({ info }), McpServer.layerMemory(MottoLive, { info }))
 * const proxy = Layer.provide(
 *   Layer.unwrap(Effect.map(ClientSession.ClientSession, (session) => McpProxy.fromSession("motto", session))),
 *   remote
 * )
 *
 * export const motto = Effect.gen(function*() {
 *   const session = yield* ClientSession.make({ info })
 *   return (yield* session.readResource("app://motto")).contents
 * }).pipe(Effect.scoped, Effect.provide(McpServer.layerMemory(proxy, { info })))
 * // => [{ uri: "app://motto", text: "Festina lente" }]
 * ```
 *
 * @category layers
 */
export const fromSession = <M extends ReadonlyArray<McpMiddleware.AnyService> = readonly []>(
  group: string | EmptyGroup<M>,
  session: ClientSession.ClientSessionShape,
  options: ListOptions = {}
): Layer.Layer<never, RequestError.RequestError, McpServer | MiddlewareServices<M>> =>
  Layer.effectDiscard(Effect.gen(function*() {
    NumericOption.check(options, listRules)
    const id = idOf(group)
    const { first, remote } = yield* supervise(id, () => Effect.succeed(session), options, {
      reconnect: Schedule.recurs(0),
      healthCheck: false
    })
    const proxied = { id, remote, first, asker: Askers.none, passesQuestions: false, clients: undefined }
    yield* register(group, proxied, options)
  }))

/**
 * The server of an application: the groups that Layers register with it, served over any transport.
 *
 * @stability unstable
 */
import { type CloseReason, type Implementation, Revision } from "@effect-mcp/protocol"
import { LoadedPackages } from "@effect-mcp/protocol/internal"
import type { Handlers, NotificationContext, TransportError } from "@effect-mcp/session"
import { ChangeBus } from "@effect-mcp/session/ChangeBus"
import { SealInMemory } from "@effect-mcp/session/internal"
import * as MemoryTransport from "@effect-mcp/session/MemoryTransport"
import * as ServerSession from "@effect-mcp/session/ServerSession"
import * as SessionHost from "@effect-mcp/session/SessionHost"
import { Transport } from "@effect-mcp/session/Transport"
import type { ServerTasks } from "@effect-mcp/tasks"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import type * as Scope from "effect/Scope"
import type { Declarable, Registered, Registration } from "./internal/registry/Entry.ts"
import { GivenReferences } from "./internal/registry/GivenReferences.ts"
import { RegistrationError } from "./internal/registry/RegistrationError.ts"
import { ServerRegistry, type Serving } from "./internal/registry/ServerRegistry.ts"
import { thisPackage } from "./internal/thisPackage.ts"
import { trust } from "./internal/trust.ts"
import type { ListHints } from "./McpCaching.ts"
import type { RequestServices } from "./McpMiddleware.ts"

/**
 * The members of a running server.
 *
 * @category models
 */
export interface McpServerShape {
  /** The beginning that `McpMount` gives the names of the groups, such as `work_`; empty without a mount. */
  readonly mount: string
  /**
   * Registers a group until the scope closes. `McpGroup.toLayer` calls it. Dies if another group has a member of the
   * same kind and name. Returns the function that replaces its members.
   */
  readonly register: (registration: Registration) => Effect.Effect<Registered, never, Scope.Scope>
  /**
   * Notifies the clients that subscribed to this resource that it has changed (RES-03). Waits until they have received
   * it, at most 5 seconds.
   */
  readonly resourceUpdated: (uri: string) => Effect.Effect<void>
  /**
   * Notifies all clients that one of their lists may have changed, because the results of `visible` or `list` have
   * (TOOL-02, RES-02, PRM-02). A change of the registered groups needs no call. Calls within 50 ms are one
   * notification.
   */
  readonly listChanged: (list: "tools" | "resources" | "prompts") => Effect.Effect<void>
  /** Notifies all clients that each of their lists may have changed, as {@link McpServerShape.listChanged} does. */
  readonly visibilityChanged: Effect.Effect<void>
  /**
   * Notes, before the server starts, that the program needs sessions, and why. Then the server serves the revisions
   * with a handshake only, unless the option `revisions` names others. With `isRequired`, it does not start if none of
   * these has a handshake.
   */
  readonly needsSessions: (need: { readonly reason: string; readonly isRequired: boolean }) => Effect.Effect<void>
}

/**
 * The server that groups register with.
 *
 * @example
 * ```ts
 * import { McpServer } from "@effect-mcp/server"
 * import * as Effect from "effect/Effect"
 *
 * export const changed = (id: number) =>
 *   Effect.flatMap(McpServer.McpServer, (server) => server.resourceUpdated(`tasks://${id}`))
 * ```
 *
 * @category services
 */
export class McpServer extends Context.Service<McpServer, McpServerShape>()("@effect-mcp/server/McpServer") {}

/**
 * Options of the tasks of a server: their lifetimes and limits. They are stored in the `TaskStore` that is merged with
 * the groups or provided to the server, and in memory without one. They end with the server.
 *
 * @category models
 */
export interface TaskOptions extends Omit<ServerTasks.Options, "tools"> {
  /**
   * Whether the call of a tool that only reads (`Tool.Readonly`) is run again by the next owner of its session, as long
   * as it has asked its client nothing. Each call of such a tool costs two writes then. Default: no.
   */
  readonly repeatsReading?: boolean
}

/**
 * Options of the lists and of subscriptions.
 *
 * @category models
 */
export interface RegistryOptions {
  /** The number of items in a page of a list. Default 100. */
  readonly pageSize?: number
  /** The number of resources that one session can subscribe to. Default 1,000. */
  readonly maxSubscriptions?: number
  /**
   * Capabilities to declare although no member needs them yet. The server declares those of the members that are
   * registered when it starts. Registering a member later that needs another one is a defect.
   */
  readonly declare?: ReadonlyArray<Declarable>
  /** The times for which clients of revision 2026-07-28 may keep the lists. Default: they are stale at once. */
  readonly caching?: ListHints
  /** `false` switches off `logging`. Default: the server declares it. */
  readonly logging?: false
  /** Options of the tasks of tools with the annotation `McpTool.Task`. */
  readonly tasks?: TaskOptions
  /**
   * The name under which the processes of a server share changes, if a `ChangeBus` is provided: those that `McpServer`
   * is told of, and those of the registered groups. Default: the `name` of the server. `makeStatelessHandlers` does not
   * know that name, and shares nothing by default.
   */
  readonly changeScope?: string
}

/**
 * Handlers beside the groups.
 *
 * @category models
 */
export interface OtherHandlers<R> {
  /**
   * Handlers of methods and notifications that the groups do not serve, such as `notifications/roots/list_changed`,
   * whose `NotificationContext` has the session. A method that the groups serve is a defect of the Layer.
   */
  readonly handlers?: Handlers.HandlersWith<
    "client",
    R | RequestServices,
    R | NotificationContext.NotificationContext | Scope.Scope
  >
}

/**
 * Options of a server with one client: those of a `ServerSession`, with its name and version in `info`, and those of
 * the registry.
 *
 * @category models
 */
export interface Options<R = never>
  extends Omit<ServerSession.Options<R>, "capabilities" | "stateless" | "tasks">, RegistryOptions, OtherHandlers<R>
{}

/**
 * Options of a server with many clients: those of a `SessionHost`, with its name and version in `info`, and those of
 * the registry.
 *
 * @category models
 */
export interface HostOptions<R = never>
  extends Omit<SessionHost.Options<R>, "capabilities" | "tasks">, RegistryOptions, OtherHandlers<R>
{}

/**
 * Options with the name and the version of the server in `info`, as sessions, hosts and clients have them, or beside
 * the other options.
 *
 * @category models
 */
export type Named<O extends { readonly info: Implementation.Implementation }> =
  | O
  | (Omit<O, "info"> & Implementation.Implementation & { readonly info?: never })

/** Returns options with their name and version in `info`. */
const inInfo = <O extends { readonly info: Implementation.Implementation }>(options: Named<O>): O => {
  if (options.info !== undefined) return options
  // Options without `info` have the members of `info` beside the others. The compiler does not narrow a generic union.
  const { description, icons, name, title, version, websiteUrl, ...rest } = trust<Implementation.Implementation>(
    options
  )
  const info: Implementation.Implementation = {
    name,
    version,
    ...(title === undefined ? undefined : { title }),
    ...(description === undefined ? undefined : { description }),
    ...(websiteUrl === undefined ? undefined : { websiteUrl }),
    ...(icons === undefined ? undefined : { icons })
  }
  // All members of `O` but `info` are in `rest`.
  return trust<O>({ ...rest, info })
}

type Revisions = ServerSession.Options["revisions"]

/**
 * Returns the revisions of a server, or `undefined` for the default of a session. Throws if the program needs sessions,
 * and none of its revisions has them.
 */
const revisionsFor = (revisions: Revisions, needs: Serving["needsSessions"]): Revisions => {
  if (revisions === undefined) return needs.length === 0 ? undefined : Revision.legacy
  const required = needs.find(({ isRequired }) => isRequired)
  if (required === undefined || revisions.some(Revision.isLegacy)) return revisions
  const problem = `${required.reason}, and revision ${revisions.join(", ")} has none; add an older one to revisions`
  throw new RegistrationError({ group: "options", problem })
}

/** Returns the options of a session. */
const sessionOptions = <
  O extends RegistryOptions & OtherHandlers<unknown> & { readonly revisions?: Revisions }
>(
  options: O,
  { capabilities, needsSessions }: Serving,
  tasks: ServerTasks.ServerTasksShape | undefined
) => {
  const { handlers: _, logging, revisions, tasks: __, ...rest } = options
  const served = revisionsFor(revisions, needsSessions)
  return {
    ...rest,
    ...(served === undefined ? undefined : { revisions: served }),
    ...(tasks === undefined ? undefined : { tasks }),
    capabilities: logging === false ? { ...capabilities, logging } : capabilities
  }
}

/** Joins the handlers of the groups and those of the options. */
const joined = <R>(
  groups: Handlers.Handlers<"client", RequestServices>,
  others: NonNullable<OtherHandlers<R>["handlers"]> = {}
): NonNullable<OtherHandlers<R>["handlers"]> => {
  const twice = Object.keys(others).find((method) => method in groups)
  if (twice !== undefined) {
    const problem = `it has a handler of ${twice}, and so have the groups; remove it from the option handlers`
    throw new RegistrationError({ group: "options", problem })
  }
  return { ...groups, ...others }
}

/** Returns the tasks of a server, if the calls of some tool become tasks, or the program has options for them. */
const tasksOf = (
  registry: ServerRegistry,
  groups: Context.Context<never>,
  options: TaskOptions | undefined
): Effect.Effect<ServerTasks.ServerTasksShape | undefined, never, Scope.Scope> =>
  Effect.gen(function*() {
    if (options === undefined && !registry.hasTaskTools) return undefined
    // A server without tasks loads nothing of them. A bundle of the whole package would have the parts of clients, too.
    const [ServerTasks, TaskStore] = yield* Effect.promise(() =>
      Promise.all([import("@effect-mcp/tasks/ServerTasks"), import("@effect-mcp/tasks/TaskStore")])
    )
    const ambient = yield* Effect.serviceOption(TaskStore.TaskStore)
    const given = Option.orElse(
      Context.getOption(groups, TaskStore.TaskStore),
      () => ambient
    )
    const store = Option.isSome(given) ? given.value : yield* TaskStore.makeMemory()
    const { repeatsReading = false, ...settings } = options ?? {}
    return yield* Effect.provideService(
      ServerTasks.make({ ...settings, tools: (tool) => registry.taskOf(tool, repeatsReading) }),
      TaskStore.TaskStore,
      store
    )
  })

/** Shares the changes of a running server with its other processes, if there is a bus. */
const shareChanges = (
  registry: ServerRegistry,
  groups: Context.Context<never>,
  scope: string | undefined
): Effect.Effect<void, never, Scope.Scope> =>
  Effect.gen(function*() {
    const ambient = yield* Effect.serviceOption(ChangeBus)
    const bus = Option.orElse(Context.getOption(groups, ChangeBus), () => ambient)
    if (Option.isSome(bus) && scope !== undefined) yield* registry.share(bus.value, scope)
  })

/** Builds the groups of a server. Their Layers are built for this server alone, because they register with it. */
const build = Effect.fnUntraced(function*<A, E, R>(
  groups: Layer.Layer<A, E, R>,
  options: RegistryOptions
): Effect.fn.Return<
  {
    readonly registry: ServerRegistry
    readonly references: GivenReferences
    readonly context: Context.Context<A | McpServer>
  },
  E,
  Scope.Scope | Exclude<R, McpServer>
> {
  LoadedPackages.check(thisPackage)
  const references = new GivenReferences(yield* Effect.context())
  const registry = new ServerRegistry(options, references, yield* Effect.scope)
  const context = yield* Layer.build(Layer.provideMerge(groups, Layer.succeed(McpServer, registry)))
  // A Layer that is merged with the groups gives its references as well.
  yield* Effect.sync(() => references.take("groups", context))
  return { registry, references, context }
})

/** The services that the groups need, without the server that they register with. */
type GroupServices<R> = Exclude<Exclude<R, McpServer>, Scope.Scope>

/** The services that the options of a server need, without those that its session provides to handlers. */
type OptionServices<R> = Exclude<R, RequestServices | NotificationContext.NotificationContext>

/**
 * Provides a host for the groups: a server with many clients, over every transport that uses the host.
 *
 * `RequestStateSeal` and `UsedStates` may be provided to the host or to its groups, as with `serve`, `runMainStdio` and
 * `layerMemory`. Two groups with different ones are a defect.
 *
 * @example
 * ```ts
 * import { McpGroup, McpResource, McpServer } from "@effect-mcp/server"
 * import { Authentication, StreamableHttpServer } from "@effect-mcp/transport/node"
 * import * as Effect from "effect/Effect"
 * import * as Layer from "effect/Layer"
 *
 * const Time = McpGroup.make("time", McpResource.make("now", { uri: "time://now" }))
 * const TimeLive = Time.toLayer((handlers) =>
 *   handlers.resource("now", Effect.sync(() => new Date().toISOString()))
 * )
 *
 * export const main = StreamableHttpServer.layerNode({ port: 3000 }).pipe(
 *   Layer.provide(McpServer.layerHost(TimeLive, { info: { name: "time", version: "1.0.0" } })),
 *   Layer.provide(Authentication.anonymous),
 *   Layer.launch
 * )
 * ```
 *
 * @category layers
 */
export const layerHost = <A, E, R, RO = never>(
  groups: Layer.Layer<A, E, R>,
  named: Named<HostOptions<RO>>
): Layer.Layer<SessionHost.SessionHost | McpServer | A, E, GroupServices<R> | OptionServices<RO>> =>
  Layer.effectContext(Effect.gen(function*() {
    const options = inInfo<HostOptions<RO>>(named)
    const { context, references, registry } = yield* build(groups, options)
    const tasks = yield* tasksOf(registry, context, options.tasks)
    yield* shareChanges(registry, context, options.changeScope ?? options.info.name)
    const serving = yield* registry.serving(true, tasks !== undefined)
    // The session provides the services of requests and notifications, which the type `RO` may contain.
    const { onClosed, onOpened, ...rest } = trust<HostOptions<OptionServices<RO>>>(options)
    const handlers = joined(serving.handlers, rest.handlers)
    const sessions = yield* SessionHost.make<typeof handlers, OptionServices<RO>>(handlers, {
      ...sessionOptions(rest, serving, tasks),
      onOpened: (hosted) => {
        registry.connected(hosted.session)
        onOpened?.(hosted)
      },
      onClosed: (hosted, reason) => {
        registry.disconnected(hosted.session)
        onClosed?.(hosted, reason)
      }
    }).pipe(Effect.updateContext((own: Context.Context<OptionServices<RO> | Scope.Scope>) => references.addTo(own)))
    return Context.add(context, SessionHost.SessionHost, sessions)
  }))

/**
 * Serves one client over the transport that is provided, until its session ends.
 *
 * @example
 * ```ts
 * import { McpGroup, McpResource, McpServer } from "@effect-mcp/server"
 * import { StdioServer } from "@effect-mcp/transport/node"
 * import * as Effect from "effect/Effect"
 *
 * const Time = McpGroup.make("time", McpResource.make("now", { uri: "time://now" }))
 * const TimeLive = Time.toLayer((handlers) =>
 *   handlers.resource("now", Effect.sync(() => new Date().toISOString()))
 * )
 *
 * export const main = McpServer.serve(TimeLive, { info: { name: "time", version: "1.0.0" } }).pipe(
 *   Effect.provide(StdioServer.layerNode())
 * )
 * ```
 *
 * @category running
 */
export const serve = <A, E, R, RO = never>(
  groups: Layer.Layer<A, E, R>,
  options: Named<Options<RO>>
): Effect.Effect<
  CloseReason.CloseReason,
  E | TransportError.TransportError,
  Transport | GroupServices<R> | OptionServices<RO>
> => Effect.scoped(Effect.flatMap(open(groups, options), (session) => session.closed))

/**
 * Serves one client over the transport that is provided, as long as the Layer is built. It is the server of a
 * `Simulation` of `@effect-mcp/testing`.
 *
 * @example
 * ```ts
 * import { McpGroup, McpResource, McpServer } from "@effect-mcp/server"
 * import * as Effect from "effect/Effect"
 *
 * const Time = McpGroup.make("time", McpResource.make("now", { uri: "time://now" }))
 * const TimeLive = Time.toLayer((handlers) =>
 *   handlers.resource("now", Effect.sync(() => new Date().toISOString()))
 * )
 *
 * export const server = McpServer.layer(TimeLive, { info: { name: "time", version: "1.0.0" } })
 * ```
 *
 * @category layers
 */
export const layer = <A, E, R, RO = never>(
  groups: Layer.Layer<A, E, R>,
  options: Named<Options<RO>>
): Layer.Layer<never, E | TransportError.TransportError, Transport | GroupServices<R> | OptionServices<RO>> =>
  Layer.effectDiscard(open<A, E, R, RO>(groups, options))

/** Opens the session of a server with one client. */
const open = Effect.fnUntraced(function*<A, E, R, RO>(
  groups: Layer.Layer<A, E, R>,
  named: Named<Options<RO>>
): Effect.fn.Return<
  ServerSession.ServerSessionShape,
  E | TransportError.TransportError,
  Transport | Scope.Scope | Exclude<R, McpServer> | OptionServices<RO>
> {
  const options = inInfo<Options<RO>>(named)
  const { context, references, registry } = yield* build(groups, options)
  const tasks = yield* tasksOf(registry, context, options.tasks)
  yield* shareChanges(registry, context, options.changeScope ?? options.info.name)
  const serving = yield* registry.serving(true, tasks !== undefined)
  // The session provides the services of requests and notifications, which the type `RO` may contain.
  const own = trust<Options<OptionServices<RO>>>(options)
  const handlers = joined(serving.handlers, own.handlers)
  const session = yield* ServerSession.make<typeof handlers, OptionServices<RO>>(
    handlers,
    sessionOptions(own, serving, tasks)
  ).pipe(
    Effect.updateContext((context: Context.Context<Transport | OptionServices<RO> | Scope.Scope>) =>
      references.addTo(context)
    )
  )
  registry.connected(session)
  return session
})

/**
 * The type of groups that need no service of the program. If they need one, it is a type that names the service, which
 * no Layer satisfies. With `Layer<A, E, McpServer>` in its place, the compiler compares the service with `McpServer`.
 *
 * @category models
 */
export type Provided<R> = [Exclude<R, McpServer>] extends [never] ? unknown
  : { readonly "provide these services to the groups": Exclude<R, McpServer> }

/**
 * Provides the groups in this process as the transport of their client, for tests and for programs that use their own
 * server. Every build of this Layer makes a new server.
 *
 * @example
 * ```ts
 * import { McpGroup, McpResource, McpServer } from "@effect-mcp/server"
 * import { ClientSession } from "@effect-mcp/session"
 * import * as Effect from "effect/Effect"
 * import * as Layer from "effect/Layer"
 *
 * const Motto = McpGroup.make("motto", McpResource.make("motto", { uri: "app://motto" }))
 * const MottoLive = Motto.toLayer((handlers) => handlers.resource("motto", Effect.succeed("Festina lente")))
 * const info = { name: "example", version: "1.0.0" }
 *
 * export const motto = Effect.gen(function*() {
 *   const session = yield* ClientSession.ClientSession
 *   return (yield* session.readResource("app://motto")).contents
 * }).pipe(Effect.provide(Layer.provide(ClientSession.layer({ info }), McpServer.layerMemory(MottoLive, { info }))))
 * // => [{ uri: "app://motto", text: "Festina lente" }]
 * ```
 *
 * @category layers
 */
export const layerMemory = <A, E, R, RO = never>(
  groups: Layer.Layer<A, E, R>,
  options: Named<Options<RO>> & MemoryTransport.Options
): Layer.Layer<
  Transport,
  E | TransportError.TransportError,
  Exclude<Exclude<Exclude<R, McpServer> | OptionServices<RO>, Transport>, Scope.Scope>
> =>
  Layer.fresh(Layer.effect(
    Transport,
    Effect.gen(function*() {
      const { principal, serialization, ...rest } = options
      const pair = yield* MemoryTransport.make({ principal, ...(serialization === undefined ? {} : { serialization }) })
      yield* SealInMemory.provide(Effect.provideService(open<A, E, R, RO>(groups, rest), Transport, pair.server))
      return pair.client
    })
  ))

/**
 * Builds the groups, and returns their handlers for a server without sessions, such as that of
 * `StatelessHttpServer.layer`. Clients of revision 2026-07-28 listen to changes and answer questions. For
 * clients of older revisions there are no subscriptions, no notifications about lists, and no requests to the client.
 * Provide `RequestStateSeal` and `UsedStates` to the server: groups that have their own are a defect.
 *
 * @example
 * ```ts
 * import { McpGroup, McpResource, McpServer } from "@effect-mcp/server"
 * import { Authentication, StatelessHttpServer } from "@effect-mcp/transport"
 * import * as Effect from "effect/Effect"
 * import * as Layer from "effect/Layer"
 *
 * const Motto = McpGroup.make("motto", McpResource.make("motto", { uri: "app://motto" }))
 * const MottoLive = Motto.toLayer((handlers) => handlers.resource("motto", Effect.succeed("Festina lente")))
 *
 * export const routes = Layer.unwrap(Effect.map(
 *   McpServer.makeStatelessHandlers(MottoLive),
 *   (handlers) =>
 *     StatelessHttpServer.layer(handlers, { info: { name: "motto", version: "1.0.0" } })
 * )).pipe(Layer.provide(Authentication.anonymous))
 * ```
 *
 * @category constructors
 */
export const makeStatelessHandlers = <A, E, R>(
  groups: Layer.Layer<A, E, R>,
  options: RegistryOptions = {}
): Effect.Effect<Handlers.Handlers<"client", RequestServices>, E, Scope.Scope | Exclude<R, McpServer>> =>
  Effect.gen(function*() {
    const { context, references, registry } = yield* build(groups, options)
    yield* Effect.sync(() => references.rejectAll())
    yield* shareChanges(registry, context, options.changeScope)
    const { handlers, needsSessions } = yield* registry.serving(false)
    const required = needsSessions.find(({ isRequired }) => isRequired)
    if (required === undefined) return handlers
    const problem = `${required.reason}; serve the groups by McpServer.layerHost`
    return yield* Effect.die(new RegistrationError({ group: "options", problem }))
  })

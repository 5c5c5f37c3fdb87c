/**
 * Supervised clients: a client connects to its server in the background, connects again after it has lost it, and keeps
 * its lists current.
 */
import type { Logging, Prompt, Resource, Tool } from "@effect-mcp/protocol"
import * as ClientSession from "@effect-mcp/session/ClientSession"
import type * as Handlers from "@effect-mcp/session/Handlers"
import * as Limits from "@effect-mcp/session/Limits"
import * as NumericOption from "@effect-mcp/session/NumericOption"
import type * as RequestError from "@effect-mcp/session/RequestError"
import type * as SessionEvent from "@effect-mcp/session/SessionEvent"
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import type * as Fiber from "effect/Fiber"
import * as FiberSet from "effect/FiberSet"
import * as Layer from "effect/Layer"
import * as Record from "effect/Record"
import type * as Schedule from "effect/Schedule"
import * as Scope from "effect/Scope"
import type * as Stream from "effect/Stream"
import * as Answering from "./internal/answers/Answering.ts"
import * as ListChanges from "./internal/lists/ListChanges.ts"
import { ServerLists } from "./internal/lists/ServerLists.ts"
import { WatchedResources } from "./internal/lists/WatchedResources.ts"
import * as ServerLogs from "./internal/logs/ServerLogs.ts"
import * as Calls from "./internal/supervision/Calls.ts"
import { CallsInFlight } from "./internal/supervision/CallsInFlight.ts"
import * as Reconnection from "./internal/supervision/Reconnection.ts"
import { StatusBoard } from "./internal/supervision/StatusBoard.ts"
import { StderrLines } from "./internal/supervision/StderrLines.ts"
import { SupervisedTransport } from "./internal/supervision/SupervisedTransport.ts"
import * as Supervisor from "./internal/supervision/Supervisor.ts"
import * as ToolAnnotations from "./internal/supervision/ToolAnnotations.ts"
import { defaultWaitFor } from "./internal/supervision/WaitingTime.ts"
import { trust } from "./internal/trust.ts"
import type * as McpAnswers from "./McpAnswers.ts"
import type * as McpCall from "./McpCall.ts"
import type { McpTarget } from "./McpTarget.ts"
import * as McpTypedClient from "./McpTypedClient.ts"
import type { ServerStatus } from "./ServerStatus.ts"
import type { ServerUnavailable } from "./ServerUnavailable.ts"

/**
 * A list of a server.
 *
 * @category models
 */
export type ListName = ListChanges.ListName

/**
 * Options of a client.
 *
 * @category models
 */
export interface Options<H = Handlers.Handlers<"server">, R = never, A = McpAnswers.Answers>
  extends ClientSession.Options<H, R>
{
  /** The name of the server in errors, logs and questions. Default: the description of its target. */
  readonly name?: string
  /**
   * The delays between attempts to connect. A schedule that ends ends the attempts. It begins anew after a session that
   * stood for `steadyAfter`. Default: from half a second to 30 seconds, with jitter, without an end.
   */
  readonly reconnect?: Schedule.Schedule<unknown>
  /** The time after which a session counts as one that stood. Default 10 seconds. */
  readonly steadyAfter?: Duration.Input
  /** The time that calls wait for a server that is down. Default 10 seconds. */
  readonly waitFor?: Duration.Input
  /**
   * Checks that the server still answers, because a transport cannot tell of a server that hangs, or of an HTTP server
   * that is gone. `false` checks nothing. Default: every 30 seconds, and the server has 10 seconds to answer.
   */
  readonly healthCheck?: false | { readonly interval?: Duration.Input; readonly timeout?: Duration.Input }
  /**
   * Whether the annotations of the server's tools are believed: a tool that declares itself read-only or idempotent is
   * called again after its session was lost. Annotations of a server that is not trusted must not be used (TOOL-11).
   * Default: no.
   */
  readonly trusted?: boolean
  /** The members that are read of each list. Further ones are left out, with a warning. Default 5,000. */
  readonly maxMembers?: number
  /** The characters that are read of each list. Default 8,388,608. */
  readonly maxCharacters?: number
  /** The time to read a list. Members that arrive later are left out, with a warning. Default 30 seconds. */
  readonly listTimeout?: Duration.Input
  /**
   * The answers to the server's questions. They declare their capabilities. A method that they serve has no handler in
   * `handlers`, which would pass by their policy. Default: no question is answered.
   */
  readonly answers?: A
}

/**
 * A client of one server.
 *
 * @category models
 */
export interface McpClientShape extends McpCall.McpCalls {
  readonly name: string
  readonly status: Effect.Effect<ServerStatus>
  /** Streams the present status, and then its changes. A slow follower misses old ones. */
  readonly statuses: Stream.Stream<ServerStatus>
  /** Waits for the present session, for everything that the client itself has no member for. */
  readonly session: Effect.Effect<ClientSession.ClientSessionShape, ServerUnavailable>
  /** Returns all tools. The list is read once, and again after the server or the session has changed. */
  readonly tools: Effect.Effect<ReadonlyArray<Tool.Tool>, McpCall.CallError>
  /** Returns all prompts, likewise. */
  readonly prompts: Effect.Effect<ReadonlyArray<Prompt.Prompt>, McpCall.CallError>
  /** Returns all resources, likewise. */
  readonly resources: Effect.Effect<ReadonlyArray<Resource.Resource>, McpCall.CallError>
  /** Returns all resource templates, likewise. */
  readonly resourceTemplates: Effect.Effect<ReadonlyArray<Resource.ResourceTemplate>, McpCall.CallError>
  /** Streams the names of the lists that may have changed. A slow follower gets each name once. */
  readonly changes: Stream.Stream<ListName>
  /** Sets the level of the server's log messages, in this session and in all later ones. */
  readonly setLogLevel: (level: Logging.Level, options?: McpCall.CallOptions) => Effect.Effect<void, McpCall.CallError>
  /**
   * Returns the members of a group as functions, by its definitions: with values of its schemas as arguments and
   * results, and with the failures that it declares.
   */
  readonly of: McpTypedClient.Of
}

/**
 * The client of one server, for programs with one server.
 *
 * @example
 * ```ts
 * import { McpClient } from "@effect-mcp/client"
 * import * as Effect from "effect/Effect"
 *
 * export const uris = Effect.gen(function*() {
 *   const { resources } = yield* McpClient.McpClient
 *   return (yield* resources).map(({ uri }) => uri)
 * })
 * ```
 *
 * @category services
 */
export class McpClient extends Context.Service<McpClient, McpClientShape>()("@effect-mcp/client/McpClient") {}

const defaults = {
  steadyAfter: Duration.seconds(10),
  health: { interval: Duration.seconds(30), timeout: Duration.seconds(10) },
  lists: { maxMembers: 5_000, maxCharacters: 8_388_608, listTimeout: Duration.seconds(30) }
}

/** The time that a new server has to set its log level, in milliseconds. Calls wait for it. */
const logLevelTimeout = 5_000

type AnyOptions = Options<Handlers.Handlers<"server", unknown>, unknown, McpAnswers.Answers<unknown>>
type Session = ClientSession.ClientSessionShape

/**
 * Throws an `InvalidOption` for a number or a duration that makes no sense. Sessions check their limits as well, but
 * later: the client would connect again and again, and fail each time.
 */
const check = ({ healthCheck, limits, ...options }: AnyOptions): void => {
  const { count, duration, interval } = NumericOption
  NumericOption.check(options, {
    listTimeout: duration,
    maxCharacters: count,
    maxMembers: count,
    steadyAfter: duration,
    waitFor: duration
  })
  NumericOption.check(healthCheck === false ? {} : healthCheck, { interval, timeout: interval }, "healthCheck.")
  Limits.make(limits)
}

const healthOf = ({ healthCheck }: AnyOptions): Supervisor.SupervisorDependencies["health"] =>
  healthCheck === false ? undefined : {
    intervalMillis: Duration.toMillis(healthCheck?.interval ?? defaults.health.interval),
    timeoutMillis: Duration.toMillis(healthCheck?.timeout ?? defaults.health.timeout)
  }

/**
 * The name of the client whose handler runs: the name that the program gave to its server. A server may give itself any
 * name, so `profile` of the request does not tell servers apart.
 *
 * @example
 * ```ts
 * import { McpClient, McpClients, McpTarget } from "@effect-mcp/client"
 * import * as Console from "effect/Console"
 * import * as Effect from "effect/Effect"
 *
 * export const servers = McpClients.layer({ files: McpTarget.command("node", ["files.mjs"]) }, {
 *   info: { name: "app", version: "1.0.0" },
 *   handlers: {
 *     "notifications/elicitation/complete": ({ elicitationId }) =>
 *       Effect.flatMap(McpClient.ServerName, (server) => Console.log(`${server}: the page ${elicitationId} is done`))
 *   }
 * })
 * ```
 *
 * @category references
 */
export const ServerName: Context.Reference<string> = Context.Reference("@effect-mcp/client/ServerName", {
  defaultValue: () => ""
})

type AnyHandler = (...args: ReadonlyArray<unknown>) => Effect.Effect<unknown, unknown, unknown>

/** Gives handlers the name of the server and the limits of its logs. The name is an annotation of their logs, too. */
const named = (server: string, handlers: Handlers.Handlers<"server", unknown>): Record<string, AnyHandler> => {
  const provided = Context.make(ServerName, server).pipe(Context.add(ServerLogs.ServerLogs, ServerLogs.make()))
  return Record.map(
    // A handler is a function of its params.
    trust<Record<string, AnyHandler>>(handlers),
    (handler) => (...args) => Effect.annotateLogs(Effect.provideContext(handler(...args), provided), "server", server)
  )
}

const makeAny = Effect.fnUntraced(function*(
  target: McpTarget<unknown, unknown>,
  options: AnyOptions
): Effect.fn.Return<McpClientShape, never, Scope.Scope> {
  check(options)
  const scope = yield* Effect.scope
  // The types of the constructor demand the services of the target and of the handlers.
  const context = trust<Context.Context<unknown>>(yield* Effect.context<never>())
  const name = options.name ?? target.description
  const answering = Answering.make(name, options.answers, options)
  const board = yield* StatusBoard.make(name)
  const inFlight = new CallsInFlight()
  // Over HTTP without sessions, nothing else reports that the server was started again.
  const calls = new Calls.Calls(board, inFlight, () => lists.allChanged())
  const stderr = new StderrLines()
  // A fiber that `runSync` starts would keep the scheduler of that run, and ignore that of the program.
  const run = yield* FiberSet.makeRuntime()
  const fork = <A, E>(effect: Effect.Effect<A, E>): Fiber.Fiber<A, E> => run(effect)

  const send = <A, R>(
    { repeat, waitFor = options.waitFor ?? defaultWaitFor }: McpCall.CallOptions<R>,
    isRepeatable: (lost: Session) => Effect.Effect<boolean>,
    call: (session: Session) => Effect.Effect<A, RequestError.RequestError, R>
  ) => calls.send({ waitFor, isRepeatable: repeat === undefined ? isRepeatable : () => Effect.succeed(repeat) }, call)
  const reading = () => Effect.succeed(true)

  const lists = new ServerLists({
    server: JSON.stringify(name),
    send: (read) => send({}, reading, read),
    bounds: {
      maxMembers: options.maxMembers ?? defaults.lists.maxMembers,
      maxCharacters: options.maxCharacters ?? defaults.lists.maxCharacters,
      listTimeout: options.listTimeout ?? defaults.lists.listTimeout
    },
    fork
  })
  const watched = new WatchedResources({ board, fork })

  let logLevel: Logging.Level | undefined
  /** Sets again what belongs to a session and not to the client. */
  const prepare = (session: Session): Effect.Effect<void> =>
    Effect.andThen(
      Effect.andThen(Effect.sync(() => lists.allChanged()), answering.opened(session)),
      Effect.suspend(() =>
        logLevel === undefined
          ? Effect.void
          : Effect.ignore(session.setLogLevel(logLevel, { timeout: logLevelTimeout }))
      )
    )

  let current: Session | undefined
  /** Prepares a session again, whose server has lost its state, or may have lost messages. */
  const renew = (session: Session): Effect.Effect<void> => Effect.andThen(prepare(session), board.open(session))
  const observe = (event: SessionEvent.SessionEvent): void => {
    if (event._tag === "StateChanged" && (event.to === "Closing" || event.to === "Closed")) board.leave()
    if (current === undefined) return
    // The transport has repeated the handshake.
    if (event._tag === "SessionRenewed") {
      watched.lost(current)
      fork(renew(current))
    }
    // Notifications may be lost with the standalone stream of HTTP, from its loss until it is open again.
    if (event._tag === "StreamLost" && event.method === undefined) lists.allChanged()
    if (event._tag === "StreamResumed" && event.method === undefined) fork(renew(current))
  }
  // Before the fiber that has the session, so that the session closes while its transport is still there.
  const transport = new SupervisedTransport(
    target.withStderr?.((line) => stderr.add(line)) ?? target.transport,
    context,
    yield* Scope.fork(scope)
  )
  const connect = ClientSession.make<Handlers.Handlers<"server">>(
    // The services of the handlers are in the context of the client, which every session gets.
    trust<ClientSession.Options>({
      ...options,
      capabilities: answering.capabilities,
      handlers: named(name, answering.handlers),
      observe: (event: SessionEvent.SessionEvent) => {
        observe(event)
        options.observe?.(event)
      }
    })
  )
  yield* Effect.forkScoped(answering.follow(() => current), { startImmediately: true })
  yield* Effect.forkScoped(
    Supervisor.run({
      server: JSON.stringify(name),
      board,
      inFlight,
      stderr,
      connect: transport.connect(connect),
      opened: (session) => {
        current = session
        fork(ListChanges.follow(session, (list) => lists.changed(list)))
        return prepare(session)
      },
      schedule: options.reconnect ?? Reconnection.defaultSchedule,
      steadyMillis: Duration.toMillis(options.steadyAfter ?? defaults.steadyAfter),
      health: healthOf(options)
    })
  )

  /**
   * Returns whether a tool of a trusted server declares that it can be called again: in the list that was read in the
   * lost session, and in that of the server which would be called now.
   */
  const isRepeatableTool = (tool: string) => (lost: Session): Effect.Effect<boolean> => {
    const called = lists.tools.lastIn(lost)
    if (options.trusted !== true || called === undefined) return Effect.succeed(false)
    return Effect.map(
      // Not a kept list: it is that of the server that was called, until the next one is connected.
      Effect.orElseSucceed(lists.tools.fresh, () => []),
      (now) => [called, now].every((tools) => ToolAnnotations.isRepeatable(tools, tool))
    )
  }

  // The last finalizer, so that it is the first to run: a program that still uses the client waits for nothing.
  yield* Effect.addFinalizer(() =>
    Effect.sync(() => {
      board.set({ _tag: "Down", problem: { _tag: "Stopped" }, attempts: 0, retryMillis: undefined, stderr: [] })
      lists.end()
    })
  )

  const client: Omit<McpClientShape, "of"> = {
    name,
    status: Effect.sync(() => board.status),
    statuses: board.changes,
    session: calls.session(options.waitFor ?? defaultWaitFor),
    tools: lists.tools.all,
    prompts: lists.prompts.all,
    resources: lists.resources.all,
    resourceTemplates: lists.resourceTemplates.all,
    changes: lists.changes,
    callTool: (tool, input, options = {}) =>
      Effect.suspend(() => send(options, isRepeatableTool(tool), (session) => session.callTool(tool, input, options))),
    readResource: (uri, options = {}) => send(options, reading, (session) => session.readResource(uri, options)),
    getPrompt: (prompt, input, options = {}) =>
      send(options, reading, (session) => session.getPrompt(prompt, input, options)),
    complete: (params, options = {}) => send(options, reading, (session) => session.complete(params, options)),
    setLogLevel: (level, options = {}) =>
      Effect.suspend(() => {
        logLevel = level
        return send(options, reading, (session) => session.setLogLevel(level, options))
      }),
    watch: (uri) => watched.watch(uri)
  }
  return { ...client, of: McpTypedClient.make(client) }
})

/**
 * Creates a client that is supervised until the scope closes. It connects in the background, so that this neither waits
 * nor fails: calls wait for the server, up to `waitFor`. Dies with an `InvalidOption` if a duration or a limit of the
 * options makes no sense.
 *
 * @example
 * ```ts
 * import { McpClient, McpTarget } from "@effect-mcp/client"
 * import { Content } from "@effect-mcp/protocol"
 * import { ServerSession } from "@effect-mcp/session"
 * import * as Effect from "effect/Effect"
 *
 * const info = { name: "example", version: "1.0.0" }
 * const server = ServerSession.layerInProcess({
 *   "tools/call": ({ name }) => Effect.succeed({ content: [Content.text(`called ${name}`)] })
 * }, { info })
 *
 * export const content = Effect.gen(function*() {
 *   const client = yield* McpClient.make(McpTarget.transport(server), { info })
 *   return (yield* client.callTool("greet")).content
 * }).pipe(Effect.scoped) // => [{ type: "text", text: "called greet" }]
 * ```
 *
 * @category constructors
 */
export const make = <
  E,
  RT,
  const H extends Handlers.Handlers<"server", unknown> = Handlers.Handlers<"server">,
  R = never,
  const A extends McpAnswers.Answers<unknown> = {}
>(
  target: McpTarget<E, RT>,
  options: Options<H, R, A> & McpAnswers.Checked<H, A>
): Effect.Effect<
  McpClientShape,
  never,
  Scope.Scope | RT | Handlers.ServicesOf<H, "server"> | McpAnswers.ServicesOf<A> | R
> =>
  // The services of the target and of the handlers are in the context of the caller, as the type of the result demands.
  trust(makeAny(trust(target), trust(options)))

/**
 * Provides a client under the key of one server. Every build of this Layer makes a new client.
 *
 * @example
 * ```ts
 * import { McpClient, McpTarget } from "@effect-mcp/client"
 * import * as Context from "effect/Context"
 *
 * class Files extends Context.Service<Files, McpClient.McpClientShape>()("app/Files") {}
 *
 * export const files = McpClient.layerOf(Files, McpTarget.command("node", ["files.mjs"]), {
 *   info: { name: "app", version: "1.0.0" }
 * })
 * ```
 *
 * @category layers
 */
export const layerOf = <
  Self,
  E,
  RT,
  const H extends Handlers.Handlers<"server", unknown> = Handlers.Handlers<"server">,
  R = never,
  const A extends McpAnswers.Answers<unknown> = {}
>(
  key: Context.Key<Self, McpClientShape>,
  target: McpTarget<E, RT>,
  options: Options<H, R, A> & McpAnswers.Checked<H, A>
): Layer.Layer<
  Self,
  never,
  Exclude<RT | Handlers.ServicesOf<H, "server"> | McpAnswers.ServicesOf<A> | R, Scope.Scope>
> => Layer.fresh(Layer.effect(key, make(target, options)))

/**
 * Provides the client of one server. Every build of this Layer makes a new client.
 *
 * @example
 * ```ts
 * import { McpClient, McpTarget } from "@effect-mcp/client"
 * import * as Effect from "effect/Effect"
 *
 * const client = McpClient.layer(McpTarget.url("https://example.com/mcp"), { info: { name: "app", version: "1.0.0" } })
 *
 * export const toolNames = Effect.gen(function*() {
 *   const { tools } = yield* McpClient.McpClient
 *   return (yield* tools).map(({ name }) => name)
 * }).pipe(Effect.provide(client))
 * ```
 *
 * @category layers
 */
export const layer = <
  E,
  RT,
  const H extends Handlers.Handlers<"server", unknown> = Handlers.Handlers<"server">,
  R = never,
  const A extends McpAnswers.Answers<unknown> = {}
>(
  target: McpTarget<E, RT>,
  options: Options<H, R, A> & McpAnswers.Checked<H, A>
): Layer.Layer<
  McpClient,
  never,
  Exclude<RT | Handlers.ServicesOf<H, "server"> | McpAnswers.ServicesOf<A> | R, Scope.Scope>
> => layerOf(McpClient, target, options)

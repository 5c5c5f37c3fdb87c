/** A client of one server: its supervisor, its calls, its lists and its answers, put together. */

import type { Logging, Prompt, Resource, Tool } from "@effect-mcp/protocol"
import * as ClientSession from "@effect-mcp/session/ClientSession"
import type * as Handlers from "@effect-mcp/session/Handlers"
import { NumericOption } from "@effect-mcp/session/internal"
import * as Limits from "@effect-mcp/session/Limits"
import type * as RequestError from "@effect-mcp/session/RequestError"
import type * as SessionEvent from "@effect-mcp/session/SessionEvent"
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import type * as Fiber from "effect/Fiber"
import * as FiberSet from "effect/FiberSet"
import * as Option from "effect/Option"
import * as Record from "effect/Record"
import type * as Schedule from "effect/Schedule"
import * as Scope from "effect/Scope"
import type * as Stream from "effect/Stream"
import type * as McpAnswers from "../../McpAnswers.ts"
import type * as McpCall from "../../McpCall.ts"
import type { McpTarget } from "../../McpTarget.ts"
import type { McpTasks } from "../../McpTasks.ts"
import * as McpTypedClient from "../../McpTypedClient.ts"
import type { ServerStatus } from "../../ServerStatus.ts"
import type { ServerUnavailable } from "../../ServerUnavailable.ts"
import * as TaskIds from "../../TaskIds.ts"
import * as Answering from "../answers/Answering.ts"
import * as ListChanges from "../lists/ListChanges.ts"
import { ServerLists } from "../lists/ServerLists.ts"
import { WatchedResources } from "../lists/WatchedResources.ts"
import * as ServerLogs from "../logs/ServerLogs.ts"
import { trust } from "../trust.ts"
import * as Calls from "./Calls.ts"
import { CallsInFlight } from "./CallsInFlight.ts"
import * as Reconnection from "./Reconnection.ts"
import { StatusBoard } from "./StatusBoard.ts"
import { StderrLines } from "./StderrLines.ts"
import * as SupervisedTasks from "./SupervisedTasks.ts"
import { SupervisedTransport } from "./SupervisedTransport.ts"
import * as Supervisor from "./Supervisor.ts"
import * as ToolAnnotations from "./ToolAnnotations.ts"
import { defaultWaitFor } from "./WaitingTime.ts"

const defaults = {
  steadyAfter: Duration.seconds(10),
  health: { interval: Duration.seconds(30), timeout: Duration.seconds(10) },
  lists: { maxMembers: 5_000, maxCharacters: 8_388_608, listTimeout: Duration.seconds(30) }
}

/** The time that a new server has to set its log level, in milliseconds. Calls wait for it. */
const logLevelTimeout = 5_000

/** Options of a client. */
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

/** A client of one server. */
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
  readonly changes: Stream.Stream<ListChanges.ListName>
  /** Calls of tools that outlive the sessions with the server. */
  readonly tasks: McpTasks
  /** Sets the level of the server's log messages, in this session and in all later ones. */
  readonly setLogLevel: (level: Logging.Level, options?: McpCall.CallOptions) => Effect.Effect<void, McpCall.CallError>
  /**
   * Returns the members of a group as functions, by its definitions: with values of its schemas as arguments and
   * results, and with the failures that it declares.
   */
  readonly of: McpTypedClient.Of
}

/** The options of a client, whatever services they need. */
export type AnyOptions = Options<Handlers.Handlers<"server", unknown>, unknown, McpAnswers.Answers<unknown>>
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

/** The name of the client whose handler runs. */
export const ServerName: Context.Reference<string> = Context.Reference("@effect-mcp/client/ServerName", {
  defaultValue: () => ""
})

/** A client, and what a group of clients needs besides. */
export interface SupervisedClient {
  readonly client: McpClientShape
  /** Calls a tool whose name is decided before each attempt, after the session is there. */
  readonly callTool: <E, R = never>(
    name: Effect.Effect<string, E>,
    input?: { readonly [name: string]: unknown },
    options?: McpCall.CallOptions<R>
  ) => Effect.Effect<Tool.CallToolResult, McpCall.CallError | E, R>
  /** Returns the number of times that the list of the tools may have changed. */
  readonly toolChanges: () => number
}

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

/**
 * Creates a client that is supervised until the scope closes. The context of the caller has the services of the target
 * and of the options.
 */
export const make = Effect.fnUntraced(function*(
  target: McpTarget<unknown, unknown>,
  options: AnyOptions
): Effect.fn.Return<SupervisedClient, never, Scope.Scope> {
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

  const send = <A, R, E = never>(
    { repeat, waitFor = options.waitFor ?? defaultWaitFor }: McpCall.CallOptions<R>,
    isRepeatable: (lost: Session) => Effect.Effect<boolean>,
    call: (session: Session) => Effect.Effect<A, RequestError.RequestError, R>,
    before: Effect.Effect<void, E> = Effect.void
  ) =>
    calls.send(
      { waitFor, isRepeatable: repeat === undefined ? isRepeatable : () => Effect.succeed(repeat), before },
      call
    )
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
    if (event._tag === "StrayText") board.stray(event.text)
    if (event._tag === "FellBack") board.fellBack(event.isGuess === true ? event.problem : undefined)
    if (event._tag === "StateChanged" && event.to === "Modern") board.fellBack(undefined)
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
  const isRepeatableTool = (tool: string, lost: Session): Effect.Effect<boolean> => {
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

  const callTool: SupervisedClient["callTool"] = (name, input, options = {}) =>
    Effect.suspend(() => {
      let tool = ""
      return send(
        options,
        (lost) => isRepeatableTool(tool, lost),
        (session) => session.callTool(tool, input, options),
        Effect.map(name, (decided) => {
          tool = decided
        })
      )
    })

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
    callTool: (tool, input, options) => callTool(Effect.succeed(tool), input, options),
    readResource: (uri, options = {}) => send(options, reading, (session) => session.readResource(uri, options)),
    getPrompt: (prompt, input, options = {}) =>
      send(options, reading, (session) => session.getPrompt(prompt, input, options)),
    complete: (params, options = {}) => send(options, reading, (session) => session.complete(params, options)),
    setLogLevel: (level, options = {}) =>
      Effect.suspend(() => {
        logLevel = level
        return send(options, reading, (session) => session.setLogLevel(level, options))
      }),
    watch: (uri) => watched.watch(uri),
    tasks: SupervisedTasks.make({
      server: name,
      ids: Option.getOrUndefined(yield* Effect.serviceOption(TaskIds.TaskIds)) ?? (yield* TaskIds.makeMemory),
      session: calls.session(options.waitFor ?? defaultWaitFor),
      send: (given, reads, request) => send(given, () => Effect.succeed(reads), request)
    })
  }
  return {
    client: { ...client, of: McpTypedClient.make(client) },
    callTool,
    toolChanges: () => lists.tools.changes
  }
})

/** A client of one server: its supervisor, its calls, its lists and its answers, put together. */

import type { Logging, Prompt, Resource, Tool } from "@effect-mcp/protocol"
import { LoadedPackages } from "@effect-mcp/protocol/internal"
import * as ClientSession from "@effect-mcp/session/ClientSession"
import type * as Handlers from "@effect-mcp/session/Handlers"
import { NumericOption } from "@effect-mcp/session/internal"
import * as Limits from "@effect-mcp/session/Limits"
import type * as SessionEvent from "@effect-mcp/session/SessionEvent"
import { type Account, ClientAuthorization } from "@effect-mcp/transport/ClientAuthorization"
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Record from "effect/Record"
import * as Scope from "effect/Scope"
import type * as Stream from "effect/Stream"
import type * as McpAnswers from "../../McpAnswers.ts"
import type * as McpCall from "../../McpCall.ts"
import type { McpTarget } from "../../McpTarget.ts"
import type { McpTasks } from "../../McpTasks.ts"
import * as McpTypedClient from "../../McpTypedClient.ts"
import type { ServerStatus } from "../../ServerStatus.ts"
import type { ServerUnavailableError } from "../../ServerUnavailableError.ts"
import * as TaskIds from "../../TaskIds.ts"
import * as Answering from "../answers/Answering.ts"
import type * as ListChanges from "../lists/ListChanges.ts"
import * as ServerLogs from "../logs/ServerLogs.ts"
import { thisPackage } from "../thisPackage.ts"
import { trust } from "../trust.ts"
import { StderrLines } from "./StderrLines.ts"
import * as SupervisedSessions from "./SupervisedSessions.ts"
import * as SupervisedTasks from "./SupervisedTasks.ts"
import { SupervisedTransport } from "./SupervisedTransport.ts"
import * as ToolAnnotations from "./ToolAnnotations.ts"

const listDefaults = { maxMembers: 5_000, maxCharacters: 8_388_608, listTimeout: Duration.seconds(30) }

/** The time that a new server has to set its log level, in milliseconds. Calls wait for it. */
const logLevelTimeout = 5_000

/** Options of a client. */
export interface Options<H = Handlers.Handlers<"server">, R = never, A = McpAnswers.Answers>
  extends ClientSession.Options<H, R>, SupervisedSessions.Options
{
  /** The name of the server in errors, logs and questions. Default: the description of its target. */
  readonly name?: string
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
  /**
   * The account of the client at the server of a URL, if the program has an authorization in which people sign in, such
   * as `OAuth.layer`. After `login`, a client that is down connects again at once.
   */
  readonly account: Account | undefined
  /** Waits for the present session, for everything that the client itself has no member for. */
  readonly session: Effect.Effect<ClientSession.ClientSessionShape, ServerUnavailableError>
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
 * Throws an `InvalidOptionError` for a number or a duration that makes no sense. Sessions check their limits as well,
 * but later: the client would connect again and again, and fail each time.
 */
const check = ({ healthCheck, limits, ...options }: AnyOptions): void => {
  const { count, duration, interval } = NumericOption
  NumericOption.check(options, {
    listTimeout: duration,
    maxCharacters: count,
    maxMembers: count,
    steadyAfter: duration,
    waitTimeout: duration
  })
  NumericOption.check(healthCheck === false ? {} : healthCheck, { interval, timeout: interval }, "healthCheck.")
  Limits.make(limits)
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
  /** Waits for a session, as a call does. */
  readonly ready: SupervisedSessions.SupervisedSessions["ready"]
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
  LoadedPackages.check(thisPackage)
  check(options)
  const scope = yield* Effect.scope
  // The types of the constructor demand the services of the target and of the handlers.
  const context = trust<Context.Context<unknown>>(yield* Effect.context<never>())
  const name = options.name ?? target.description
  const answering = Answering.make(name, options.answers, options)
  const stderr = new StderrLines()
  // Before the fiber that has the session, so that the session closes while its transport is still there.
  const transport = new SupervisedTransport(
    target.withStderr?.((line) => stderr.add(line)) ?? target.transport,
    context,
    yield* Scope.fork(scope)
  )
  let logLevel: Logging.Level | undefined
  const sessions = yield* SupervisedSessions.make({
    name,
    connect: (observe) =>
      transport.connect(ClientSession.make<Handlers.Handlers<"server">>(
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
      )),
    prepare: (session) =>
      Effect.andThen(
        answering.opened(session),
        Effect.suspend(() =>
          logLevel === undefined
            ? Effect.void
            : Effect.ignore(session.setLogLevel(logLevel, { timeout: logLevelTimeout }))
        )
      ),
    bounds: {
      maxMembers: options.maxMembers ?? listDefaults.maxMembers,
      maxCharacters: options.maxCharacters ?? listDefaults.maxCharacters,
      listTimeout: options.listTimeout ?? listDefaults.listTimeout
    },
    stderr
  }, options)
  const { board, lists, send, watched } = sessions
  yield* Effect.forkScoped(answering.follow(sessions.current), { startImmediately: true })
  const reading = () => Effect.succeed(true)

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

  const authorization = Option.getOrUndefined(yield* Effect.serviceOption(ClientAuthorization))
  const account = yield* target.account?.(authorization) ?? Effect.undefined

  const client: Omit<McpClientShape, "of"> = {
    name,
    account: account && { ...account, login: (options) => Effect.tap(account.login(options), () => sessions.retry) },
    status: Effect.sync(() => board.status),
    statuses: board.changes,
    session: sessions.ready(),
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
      session: sessions.ready(),
      send: (given, reads, request) => send(given, () => Effect.succeed(reads), request)
    })
  }
  return {
    client: { ...client, of: McpTypedClient.make(client) },
    callTool,
    ready: sessions.ready,
    toolChanges: () => lists.tools.changes
  }
})

/** The group of a proxied server: registers its members, keeps them current, and forwards updates of resources. */

import { ListChanges, Reconnection, type SupervisedSessions } from "@effect-mcp/client/internal"
import type * as McpCall from "@effect-mcp/client/McpCall"
import { InputRequired, type McpError, type Meta, type MethodTable, Revision } from "@effect-mcp/protocol"
import { type Caching, Excerpt } from "@effect-mcp/protocol/internal"
import type { GroupRuntime, RegistryEntry } from "@effect-mcp/server/internal"
import type { McpServerShape } from "@effect-mcp/server/McpServer"
import type { ClientSession, RequestOptions } from "@effect-mcp/session"
import * as RequestContext from "@effect-mcp/session/RequestContext"
import type * as RequestError from "@effect-mcp/session/RequestError"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Latch from "effect/Latch"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import type * as Askers from "./Askers.ts"
import type { ClientSessions, Connection } from "./ClientSessions.ts"
import * as PassedQuestions from "./PassedQuestions.ts"
import { type Forward, type ForwardedMethod, type LeftOut, type Lists, RemoteEntries } from "./RemoteEntries.ts"
import * as RemoteErrors from "./RemoteErrors.ts"
import * as RemoteSubscriptions from "./RemoteSubscriptions.ts"
import { trust } from "./trust.ts"

/** The bounds of a proxied server. */
export interface Options {
  /** The number of times that the server may answer one call with questions. */
  readonly maxRounds: number
  readonly timeout: Duration.Input
  readonly readsUnlisted: boolean
}

/** The least time between two readings of a list, for servers that notify without end. */
const refreshInterval = "1 second"

/** The number of left out members that one warning names. */
const maxNamed = 10

/** The length of the problem of one left out member in a warning. It has names of the server. */
const maxProblem = 300

const declarable: ReadonlyArray<RegistryEntry.Declarable> = ["tools", "prompts", "resources", "completions"]

/** Returns the `_meta` that is forwarded: all of it but the progress token, which belongs to the client's session. */
const forwardedMeta = (request: Askers.ServedRequest): Meta.Meta | undefined => {
  if (request.meta === undefined) return undefined
  const { progressToken: _, ...meta } = request.meta
  return Object.keys(meta).length === 0 ? undefined : meta
}

/** Returns the options of a forwarded request. */
const forwardedOptions = (request: Askers.ServedRequest, timeout: Duration.Input): RequestOptions.RequestOptions => {
  const meta = forwardedMeta(request)
  return {
    timeout,
    ...(meta === undefined ? undefined : { meta }),
    ...(request.meta?.progressToken === undefined
      ? undefined
      : { onProgress: (step) => request.progress(step), extendOnProgress: true })
  }
}

/**
 * Returns the result of a proxied server without its hint for caches. The server did not know who is checked here, and
 * the session with it may have kept the result for most of that time.
 */
const withoutHint = <A extends object>(result: A): A => {
  const { cacheScope: _, ttlMs: __, ...rest }: Partial<Caching.CacheHint> = result
  // A hint is no part of the type of a result.
  return trust<A>(rest)
}

/** Returns a warning of members that are left out. */
const leftOutOf = (id: string, leftOut: ReadonlyArray<LeftOut>): string | undefined => {
  if (leftOut.length === 0) return undefined
  const named = leftOut.slice(0, maxNamed)
    .map(({ member, problem }) => `the ${member}: ${Excerpt.line(problem, maxProblem)}`).join("; ")
  const rest = leftOut.length > maxNamed ? `; and ${leftOut.length - maxNamed} more` : ""
  return `the proxy "${id}" leaves out ${named}${rest}`
}

/** The definitions of the lists that one notification of the server is about. */
const read = (
  { lists }: SupervisedSessions.SupervisedSessions,
  list: ListChanges.ListName
): Effect.Effect<Partial<Lists>, McpCall.CallError> => {
  switch (list) {
    case "tools":
      return Effect.map(lists.tools.all, (tools) => ({ tools }))
    case "prompts":
      return Effect.map(lists.prompts.all, (prompts) => ({ prompts }))
    case "resources":
      return Effect.all({ resources: lists.resources.all, templates: lists.resourceTemplates.all }, {
        concurrency: "unbounded"
      })
  }
}

/** A proxied server. */
export interface Proxied {
  readonly id: string
  /** The sessions of the lists and the subscriptions, and of requests without a session of their own. */
  readonly remote: SupervisedSessions.SupervisedSessions
  /** The first of these sessions. */
  readonly first: ClientSession.ClientSessionShape
  /** The clients of these sessions. */
  readonly asker: Askers.Asker
  readonly passesQuestions: boolean
  /** The sessions of single clients. Without them, all share those of the lists. */
  readonly clients: ClientSessions | undefined
}

/** Registers a proxied server until the scope closes. Its requests run inside of the middleware of `runtime`. */
export const make = Effect.fnUntraced(function*(
  { asker, clients, first, id, passesQuestions, remote }: Proxied,
  server: McpServerShape,
  options: Options,
  runtime: GroupRuntime | undefined
): Effect.fn.Return<void, RequestError.RequestError, Scope.Scope> {
  const { capabilities } = first.profile
  const shared = (): Connection => ({
    send: (name, params, given) =>
      Effect.catchTag(
        remote.send({ waitTimeout: 0, repeat: false }, () =>
          Effect.succeed(false), (session) =>
          session.request(name, params, given)),
        "ServerUnavailableError",
        (error) =>
          Effect.fail(RemoteErrors.withoutSession(name)(error))
      ),
    revision: (remote.current() ?? first).profile.revision,
    asker,
    passesQuestions
  })
  const connectionOf = (request: Askers.ServedRequest): Effect.Effect<Connection, McpError.McpError> =>
    clients === undefined ? Effect.sync(shared) : clients.of(request, shared())

  const send = <Name extends ForwardedMethod>(
    name: Name,
    params: MethodTable.ParamsOf<Name>
  ): RegistryEntry.Served<MethodTable.ResultOf<Name>> =>
    Effect.flatMap(
      RequestContext.RequestContext,
      (request) =>
        Effect.flatMap(connectionOf(request), ({ asker, passesQuestions, revision, send }) => {
          const forwarded = forwardedOptions(request, options.timeout)
          const isAsking = passesQuestions && InputRequired.methods.has(name) && Revision.isModern(revision)
          const sent = asker.during(
            request,
            isAsking
              ? PassedQuestions.forward({
                server: id,
                send,
                request,
                name,
                params,
                options: forwarded,
                maxRounds: options.maxRounds
              })
              : Effect.catch(send(name, params, forwarded), RemoteErrors.failing(id))
          )
          return name === "resources/read" ? Effect.map(sent, withoutHint) : sent
        })
    )
  const forward: Forward = (method, params, { server, ...use }) =>
    runtime === undefined ? send(method, params) : runtime.run(send(method, params), { method, ...use }, server)
  const entries = new RemoteEntries({ group: id, forward, completes: capabilities.completions !== undefined })

  let leftOut: Array<LeftOut> = []
  let warned: string | undefined
  let lists: Lists = { tools: [], prompts: [], resources: [], templates: [] }
  const registered = yield* server.register({
    group: id,
    entries: [],
    visible: undefined,
    declares: declarable.filter((capability) => capabilities[capability] !== undefined),
    leaveOut: (entry, { problem }) =>
      void leftOut.push({ member: `${entry.kind} ${Excerpt.name(entry.name)}`, problem }),
    ...(capabilities.resources === undefined ? undefined : {
      observe: yield* RemoteSubscriptions.make(id, remote, server.resourceUpdated),
      ...(options.readsUnlisted ?
        {
          unlisted: (uri: string, server: RegistryEntry.ServerContext) =>
            forward("resources/read", { uri }, { name: uri, arguments: undefined, server })
        }
        : undefined),
      ...(runtime === undefined ? undefined : {
        permits: (uri: string, server: RegistryEntry.ServerContext) => runtime.permits(uri, server)
      })
    })
  })
  const use = (part: Partial<Lists>) =>
    Effect.suspend(() => {
      lists = { ...lists, ...part }
      const made = entries.of(lists)
      leftOut = [...made.leftOut]
      return Effect.andThen(
        registered.replace(made.entries),
        Effect.suspend(() => {
          const warning = leftOutOf(id, leftOut)
          const isNew = warning !== warned
          warned = warning
          return isNew && warning !== undefined ? Effect.logWarning(warning) : Effect.void
        })
      )
    })
  const refresh = (list: ListChanges.ListName) =>
    Effect.catch(read(remote, list), (error) =>
      Effect.andThen(
        Effect.logWarning(`the proxy "${id}" keeps its ${list}, which have changed: ${Excerpt.line(error.message)}`),
        // A later session is a change of its own.
        error._tag === "ServerUnavailableError"
          ? Effect.fail(error)
          : Effect.retry(read(remote, list), {
            schedule: Reconnection.defaultSchedule,
            while: ({ _tag }) => _tag === "RequestError"
          })
      )).pipe(Effect.matchEffect({ onSuccess: use, onFailure: () => Effect.void }))

  const registeredAll = yield* Latch.make()
  for (const list of ListChanges.listNames) {
    // Starts before the lists are read, so that no change in between is lost.
    yield* Effect.forkScoped(
      Stream.runForEach(
        Stream.filter(remote.lists.changes, (changed) => changed === list),
        () => registeredAll.await.pipe(Effect.andThen(refresh(list)), Effect.andThen(Effect.sleep(refreshInterval)))
      ),
      { startImmediately: true }
    )
  }
  const all = Effect.forEach(
    ListChanges.listNames,
    (list) =>
      Effect.catchTag(
        read(remote, list),
        "ServerUnavailableError",
        (error) => Effect.fail(RemoteErrors.withoutSession(`${list}/list`)(error))
      ),
    { concurrency: "unbounded" }
  )
  yield* use(Object.assign({}, ...(yield* all)))
  yield* registeredAll.open
})

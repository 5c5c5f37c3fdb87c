/** The group of a proxied server: registers its members, keeps them current, and forwards updates of resources. */

import { CloseReason, InputRequired, type Meta, type MethodTable, Revision } from "@effect-mcp/protocol"
import { Excerpt } from "@effect-mcp/protocol/internal"
import { type GroupRuntime, Hinted, type RegistryEntry } from "@effect-mcp/server/internal"
import type { McpServerShape } from "@effect-mcp/server/McpServer"
import type { ClientSession, RequestError, RequestOptions } from "@effect-mcp/session"
import type { ListReading } from "@effect-mcp/session/internalEngine"
import * as RequestContext from "@effect-mcp/session/RequestContext"
import * as Clock from "effect/Clock"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import type { ServedRequest } from "./Askers.ts"
import { type Connections, openTime } from "./Connections.ts"
import * as PassedQuestions from "./PassedQuestions.ts"
import { type Forward, type ForwardedMethod, type LeftOut, RemoteEntries } from "./RemoteEntries.ts"
import * as RemoteErrors from "./RemoteErrors.ts"
import * as RemoteLists from "./RemoteLists.ts"
import { RemoteSubscriptions } from "./RemoteSubscriptions.ts"

/** The bounds of a proxied server. */
export interface Options extends ListReading.Bounds {
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

const changes = {
  tools: "notifications/tools/list_changed",
  prompts: "notifications/prompts/list_changed",
  resources: "notifications/resources/list_changed"
} as const

const declarable: ReadonlyArray<RegistryEntry.Declarable> = ["tools", "prompts", "resources", "completions"]

/** Returns the `_meta` that is forwarded: all of it but the progress token, which belongs to the client's session. */
const forwardedMeta = (request: ServedRequest): Meta.Meta | undefined => {
  if (request.meta === undefined) return undefined
  const { progressToken: _, ...meta } = request.meta
  return Object.keys(meta).length === 0 ? undefined : meta
}

/** Returns the options of a forwarded request. */
const forwardedOptions = (request: ServedRequest, timeout: Duration.Input): RequestOptions.RequestOptions => {
  const meta = forwardedMeta(request)
  return {
    timeout,
    ...(meta === undefined ? undefined : { meta }),
    ...(request.meta?.progressToken === undefined
      ? undefined
      : { onProgress: (step) => request.progress(step), extendOnProgress: true })
  }
}

/** Notifies subscribers one update of a resource at a time. A server that updates faster is notified about once. */
class Updates {
  readonly #send: (uri: string) => Effect.Effect<void>
  readonly #scope: Scope.Scope
  /** The resources that are being sent, and whether they have changed again. */
  readonly #sending = new Map<string, boolean>()

  constructor(send: (uri: string) => Effect.Effect<void>, scope: Scope.Scope) {
    this.#send = send
    this.#scope = scope
  }

  updated(uri: string): Effect.Effect<unknown> {
    return Effect.suspend((): Effect.Effect<unknown> => {
      if (this.#sending.has(uri)) {
        this.#sending.set(uri, true)
        return Effect.void
      }
      return Effect.forkIn(this.#run(uri), this.#scope)
    })
  }

  #run(uri: string): Effect.Effect<void> {
    return Effect.suspend(() => {
      this.#sending.set(uri, false)
      return Effect.andThen(
        this.#send(uri),
        Effect.suspend(() => {
          if (this.#sending.get(uri) === true) return this.#run(uri)
          this.#sending.delete(uri)
          return Effect.void
        })
      )
    })
  }
}

const warnLeftOut = (id: string, leftOut: ReadonlyArray<LeftOut>): Effect.Effect<void> => {
  if (leftOut.length === 0) return Effect.void
  const named = leftOut.slice(0, maxNamed)
    .map(({ member, problem }) => `the ${member}: ${Excerpt.line(problem, maxProblem)}`).join("; ")
  const rest = leftOut.length > maxNamed ? `; and ${leftOut.length - maxNamed} more` : ""
  return Effect.logWarning(`the proxy "${id}" leaves out ${named}${rest}`)
}

/** The delays before the attempts to reconnect. They grow, and begin again after a session that lasted. */
const delays = { first: 1_000, greatest: 30_000, lasting: 60_000 }

/** A session with the server, and the scope of what follows it. */
interface Followed {
  readonly session: ClientSession.ClientSessionShape
  readonly scope: Scope.Closeable
}

/** A proxied server. */
export interface Proxied {
  readonly id: string
  readonly connections: Connections
  /** Opens the session of the lists again. `undefined` if the proxy cannot. */
  readonly reconnect: Effect.Effect<ClientSession.ClientSessionShape, unknown, Scope.Scope> | undefined
}

/** Follows the session of the lists, and opens another one when it has ended, until the scope closes. */
const keep = Effect.fnUntraced(function*(
  { connections, id, reconnect }: Proxied,
  follow: (session: ClientSession.ClientSessionShape) => Effect.Effect<void, RequestError.RequestError, Scope.Scope>,
  reconnected: Effect.Effect<void>
): Effect.fn.Return<void, RequestError.RequestError, Scope.Scope> {
  const scope = yield* Effect.scope
  // It closes after the fiber that reconnects, so that the end of the proxy is no reason to reconnect.
  const sessions = Scope.forkUnsafe(scope)
  const attempt = (open: Effect.Effect<ClientSession.ClientSessionShape, unknown, Scope.Scope>) =>
    Effect.suspend(() => {
      const own = Scope.forkUnsafe(sessions)
      return Effect.gen(function*() {
        const session = yield* Effect.timeout(open, openTime)
        connections.replace(session)
        yield* follow(session)
        yield* reconnected
        return { session, scope: own }
      }).pipe(
        Scope.provide(own),
        Effect.onError((cause) => Scope.close(own, Exit.failCause(cause)))
      )
    })

  const next = Effect.fnUntraced(function*(
    open: Effect.Effect<ClientSession.ClientSessionShape, unknown, Scope.Scope>,
    after: number
  ): Effect.fn.Return<{ readonly followed: Followed; readonly delay: number }> {
    let delay = after
    while (true) {
      yield* Effect.sleep(delay)
      delay = Math.min(2 * delay, delays.greatest)
      const exit = yield* Effect.exit(attempt(open))
      if (Exit.isSuccess(exit)) return { followed: exit.value, delay }
      yield* Effect.logDebug(`the proxy "${id}" could not reconnect; the next attempt is in ${delay} ms`, exit.cause)
    }
  })

  const main = Scope.forkUnsafe(sessions)
  yield* Scope.provide(follow(connections.main.session), main)
  const watch = Effect.gen(function*() {
    let followed: Followed = { session: connections.main.session, scope: main }
    let delay = delays.first
    while (true) {
      const begun = yield* Clock.currentTimeMillis
      const reason = yield* followed.session.closed
      yield* Scope.close(followed.scope, Exit.void)
      const message = `the session of the proxy "${id}" with its server has ended: ` +
        Excerpt.line(CloseReason.describe(reason))
      if (reconnect === undefined) return yield* Effect.logWarning(message)
      yield* Effect.logWarning(`${message}; the proxy reconnects`)
      if ((yield* Clock.currentTimeMillis) - begun >= delays.lasting) delay = delays.first
      const found = yield* next(reconnect, delay)
      followed = found.followed
      delay = found.delay
    }
  })
  yield* Effect.forkIn(watch, scope, { startImmediately: true })
})

/** Registers a proxied server until the scope closes. Its requests run inside of the middleware of `runtime`. */
export const make = Effect.fnUntraced(function*(
  proxied: Proxied,
  server: McpServerShape,
  options: Options,
  runtime: GroupRuntime | undefined
): Effect.fn.Return<void, RequestError.RequestError, Scope.Scope> {
  const scope = yield* Effect.scope
  const { connections, id } = proxied
  const { capabilities } = connections.main.session.profile
  const subscriptions = new RemoteSubscriptions(id, () => connections.main.session)
  yield* Effect.addFinalizer(() => subscriptions.end)

  const send = <Name extends ForwardedMethod>(
    name: Name,
    params: MethodTable.ParamsOf<Name>
  ): RegistryEntry.Served<MethodTable.ResultOf<Name>> =>
    Effect.flatMap(
      RequestContext.RequestContext,
      (request) =>
        Effect.flatMap(connections.of(request), ({ asker, passesQuestions, session }) => {
          const forwarded = forwardedOptions(request, options.timeout)
          const isAsking = passesQuestions && InputRequired.methods.has(name) &&
            Revision.isModern(session.profile.revision)
          const sent = asker.during(
            request,
            isAsking
              ? PassedQuestions.forward({
                server: id,
                session,
                request,
                name,
                params,
                options: forwarded,
                maxRounds: options.maxRounds
              })
              : Effect.catch(session.request(name, params, forwarded), RemoteErrors.failing(id))
          )
          return name === "resources/read" ? Effect.map(sent, Hinted.remove) : sent
        })
    )
  const forward: Forward = (method, params, { server, ...use }) =>
    runtime === undefined ? send(method, params) : runtime.run(send(method, params), { method, ...use }, server)
  const remote = new RemoteEntries({
    group: id,
    forward,
    completes: capabilities.completions !== undefined,
    hasTasks: capabilities.tasks?.requests?.tools?.call !== undefined
  })

  let leftOut: Array<LeftOut> = []
  let lists: RemoteLists.Lists = { tools: [], prompts: [], resources: [], templates: [] }
  const registered = yield* server.register({
    group: id,
    entries: [],
    visible: undefined,
    declares: declarable.filter((capability) => capabilities[capability] !== undefined),
    leaveOut: (entry, { problem }) =>
      void leftOut.push({ member: `${entry.kind} ${Excerpt.name(entry.name)}`, problem }),
    ...(capabilities.resources === undefined ? undefined : {
      observe: (uri: string) => subscriptions.acquire(uri),
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
  const use = (part: Partial<RemoteLists.Lists>) =>
    Effect.suspend(() => {
      lists = { ...lists, ...part }
      const made = remote.of(lists)
      leftOut = [...made.leftOut]
      return Effect.andThen(
        registered.replace(made.entries),
        Effect.suspend(() => warnLeftOut(id, leftOut))
      )
    })

  const updates = new Updates(server.resourceUpdated, scope)
  const follow = Effect.fnUntraced(function*(
    session: ClientSession.ClientSessionShape
  ): Effect.fn.Return<void, RequestError.RequestError, Scope.Scope> {
    const own = yield* Effect.scope
    // The streams start before the lists are read, so that no change in between is lost.
    const start = (following: Effect.Effect<void>) => Effect.forkIn(following, own, { startImmediately: true })
    yield* start(Stream.runForEach(
      session.notifications("notifications/resources/updated"),
      // Updates of resources without a subscription through this proxy are dropped.
      ({ uri }) => subscriptions.has(uri) ? updates.updated(uri) : Effect.void
    ))
    const refresh = (group: RemoteLists.Group) =>
      Effect.matchEffect(RemoteLists.group(session, group, options), {
        onSuccess: use,
        onFailure: (error) =>
          Effect.logWarning(`the proxy "${id}" keeps its ${group}, which have changed: ${Excerpt.line(error.message)}`)
      })
    for (const group of ["tools", "prompts", "resources"] as const) {
      yield* start(
        session.notifications(changes[group]).pipe(
          Stream.buffer({ capacity: 1, strategy: "sliding" }),
          Stream.runForEach(() => Effect.andThen(refresh(group), Effect.sleep(refreshInterval)))
        )
      )
    }
    yield* use(yield* RemoteLists.all(session, options))
  })
  // Updates may have been lost while there was no session, so every subscriber is notified.
  const reconnected = Effect.flatMap(
    subscriptions.renew,
    (uris) => Effect.forEach(uris, (uri) => updates.updated(uri), { discard: true })
  )
  yield* keep(proxied, follow, reconnected)
})

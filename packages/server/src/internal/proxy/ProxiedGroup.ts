/** The group of a proxied server: registers its members, keeps them current, and forwards updates of resources. */

import type { Meta } from "@effect-mcp/protocol"
import { CloseReason } from "@effect-mcp/protocol"
import { RequestContext, type RequestError, type RequestOptions } from "@effect-mcp/session"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import type { McpServerShape } from "../../McpServer.ts"
import type { Declarable, Registration } from "../registry/Entry.ts"
import type { ServedRequest } from "./Askers.ts"
import type { Connections } from "./Connections.ts"
import { type Forward, type LeftOut, RemoteEntries } from "./RemoteEntries.ts"
import * as RemoteErrors from "./RemoteErrors.ts"
import * as RemoteLists from "./RemoteLists.ts"
import { RemoteSubscriptions } from "./RemoteSubscriptions.ts"

/** The bounds of a proxied server. */
export interface Options extends RemoteLists.Bounds {
  readonly timeout: Duration.Input
  readonly readsUnlisted: boolean
}

/** The least time between two readings of a list, for servers that notify without end. */
const refreshInterval = "1 second"

/** The number of left out members that one warning names. */
const maxNamed = 10

const changes = {
  tools: "notifications/tools/list_changed",
  prompts: "notifications/prompts/list_changed",
  resources: "notifications/resources/list_changed"
} as const

const declarable: ReadonlyArray<Declarable> = ["tools", "prompts", "resources", "completions"]

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
  const named = leftOut.slice(0, maxNamed).map(({ member, problem }) => `the ${member}: ${problem}`).join("; ")
  const rest = leftOut.length > maxNamed ? `; and ${leftOut.length - maxNamed} more` : ""
  return Effect.logWarning(`the proxy "${id}" leaves out ${named}${rest}`)
}

/** Registers a proxied server until the scope closes. */
export const make = Effect.fnUntraced(function*(
  id: string,
  server: McpServerShape,
  connections: Connections,
  options: Options
): Effect.fn.Return<void, RequestError.RequestError, Scope.Scope> {
  const scope = yield* Effect.scope
  const { session } = connections.main
  const { capabilities } = session.profile
  const subscriptions = new RemoteSubscriptions(id, session)
  yield* Effect.addFinalizer(() => subscriptions.end)

  const forward: Forward = (name, params) =>
    Effect.flatMap(
      RequestContext.RequestContext,
      (request) =>
        Effect.flatMap(connections.of(request), (connection) =>
          connection.asker.during(
            request,
            Effect.mapError(
              connection.session.request(name, params, forwardedOptions(request, options.timeout)),
              RemoteErrors.toMcpError(id)
            )
          ))
    )
  const remote = new RemoteEntries({ group: id, forward, completes: capabilities.completions !== undefined })

  // The streams start before the lists are read, so that no change in between is lost.
  const updates = new Updates(server.resourceUpdated, scope)
  yield* Effect.forkIn(
    Stream.runForEach(
      session.notifications("notifications/resources/updated"),
      // Updates of resources without a subscription through this proxy are dropped.
      ({ uri }) => subscriptions.has(uri) ? updates.updated(uri) : Effect.void
    ),
    scope,
    { startImmediately: true }
  )

  let leftOut: Array<LeftOut> = []
  const prepared = (lists: RemoteLists.Lists) => {
    const made = remote.of(lists)
    leftOut = [...made.leftOut]
    return made.entries
  }
  let lists: RemoteLists.Lists = { tools: [], prompts: [], resources: [], templates: [] }
  const registration: Registration = {
    group: id,
    entries: [],
    visible: undefined,
    declares: declarable.filter((capability) => capabilities[capability] !== undefined),
    leaveOut: (entry, { problem }) => void leftOut.push({ member: `${entry.kind} "${entry.name}"`, problem }),
    ...(capabilities.resources === undefined ? undefined : {
      observe: (uri: string) => subscriptions.acquire(uri),
      ...(options.readsUnlisted ? { unlisted: (uri: string) => forward("resources/read", { uri }) } : undefined)
    })
  }
  const registered = yield* server.register(registration)

  const use = (part: Partial<RemoteLists.Lists>) =>
    Effect.suspend(() => {
      lists = { ...lists, ...part }
      return Effect.andThen(
        registered.replace(prepared(lists)),
        Effect.suspend(() => warnLeftOut(id, leftOut))
      )
    })
  const refresh = (group: RemoteLists.Group) =>
    Effect.matchEffect(RemoteLists.group(session, group, options), {
      onSuccess: use,
      onFailure: (error) =>
        Effect.logWarning(`the proxy "${id}" keeps its ${group}, which have changed: ${error.message}`)
    })
  for (const group of ["tools", "prompts", "resources"] as const) {
    yield* Effect.forkIn(
      session.notifications(changes[group]).pipe(
        Stream.buffer({ capacity: 1, strategy: "sliding" }),
        Stream.runForEach(() => Effect.andThen(refresh(group), Effect.sleep(refreshInterval)))
      ),
      scope,
      { startImmediately: true }
    )
  }
  yield* use(yield* RemoteLists.all(session, options))
  yield* Effect.forkIn(
    Effect.flatMap(
      session.closed,
      (reason) =>
        Effect.logWarning(`the session of the proxy "${id}" with its server has ended: ${CloseReason.describe(reason)}`)
    ),
    scope,
    { startImmediately: true }
  )
})

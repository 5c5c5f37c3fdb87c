/**
 * Many sessions of one server, whatever they come over: who is let in, who is still there, and what becomes of all of them when the
 * server goes.
 */
import { CloseReason, type Implementation, type JsonRpc, type Revision } from "@effect-mcp/protocol"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Data from "effect/Data"
import * as Deferred from "effect/Deferred"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Metric from "effect/Metric"
import * as Option from "effect/Option"
import * as Scope from "effect/Scope"
import type * as Handlers from "./Handlers.ts"
import * as HostLimits from "./HostLimits.ts"
import { Timer } from "./internal/engine/Timer.ts"
import * as Expiry from "./internal/host/Expiry.ts"
import * as HandshakeReplay from "./internal/host/HandshakeReplay.ts"
import { HostedSession, type Keeper } from "./internal/host/HostedSession.ts"
import * as HostStore from "./internal/host/HostStore.ts"
import { Restorer } from "./internal/host/Restorer.ts"
import { type Newcomer, SessionSlots, type Taken } from "./internal/host/SessionSlots.ts"
import * as ServerSessionImplementation from "./internal/server/ServerSessionImplementation.ts"
import * as SessionLimits from "./Limits.ts"
import * as Metrics from "./Metrics.ts"
import * as Principal from "./Principal.ts"
import type * as ServerSession from "./ServerSession.ts"
import type { SessionEvent } from "./SessionEvent.ts"
import * as SessionId from "./SessionId.ts"
import { SessionStore, type SessionStoreError } from "./SessionStore.ts"
import type { Transport } from "./Transport.ts"
import type { TransportError } from "./TransportError.ts"
import * as TransportErrors from "./TransportError.ts"

/**
 * What may be said about a host, and about its sessions: what `ServerSession.Options` has, but that all of its sessions begin with
 * a handshake. `limits.initializeTimeout`, the time to say `initialize` in, is 30 seconds by default.
 *
 * @category models
 */
export interface Options<R = never> extends Omit<ServerSession.Options<R>, "observe" | "sessionless"> {
  /** How many sessions it keeps, and for how long. */
  readonly sessions?: HostLimits.Options
  /** Is told of every event of every session, at once, and of which session it is; must not block. */
  readonly observe?: (event: SessionEvent, id: string) => void
}

/**
 * Why a session is not opened.
 *
 * - `host`: the host is full, and none of its sessions may be evicted for this one; `limit` is the number of sessions.
 * - `principal`: this principal has as many sessions as it may have, and all of them are in use.
 * - `draining`: the host shuts down, and opens no sessions.
 *
 * @category models
 */
export type HostFullScope = "host" | "principal" | "draining"

/**
 * The error of a host that has no room for one more session.
 *
 * @example
 * ```ts
 * import { SessionHost } from "@effect-mcp/session"
 *
 * export const message = new SessionHost.HostFull({ scope: "host", limit: 10_000 }).message
 * // => "no room for another session: the host has 10000, and none of them can be evicted"
 * ```
 *
 * @category errors
 */
export class HostFull extends Data.TaggedError("HostFull")<{
  readonly scope: HostFullScope
  readonly limit: number
  /**
   * The time until there is room at the earliest, in milliseconds, from 1 second to 5 minutes; for `draining`, until
   * the host has shut down. `undefined` if it is not known, because the sessions are in use.
   */
  readonly retryAfterMillis?: number | undefined
}> {
  override get message(): string {
    switch (this.scope) {
      case "host":
        return `no room for another session: the host has ${this.limit}, and none of them can be evicted`
      case "principal":
        return `no room for another session of this principal: it has ${this.limit}, and all of them are in use`
      case "draining":
        return "no room for another session: the host is shutting down"
    }
  }
}

/**
 * A session that a host keeps.
 *
 * @category models
 */
export interface Hosted {
  /** Visible ASCII (SHS-22) that cannot be guessed (SHS-21), unless whoever opened the session chose another. */
  readonly id: string
  /** What it comes over, in a word. */
  readonly kind: string
  readonly principal: Principal.Principal | undefined
  readonly session: ServerSession.ServerSessionShape
  /** What it was opened over. */
  readonly transport: Transport["Service"]
  /** Milliseconds since the epoch; of a session that was restored, when it was opened first. */
  readonly openedAt: number
  /** It was used now. Costs next to nothing, so that every request may say so. */
  touch(): void
  /** While somebody holds it, it is not idle. What comes back lets it go; a second time it does nothing. */
  hold(): () => void
  /** Closes the session for good, and waits until it has closed. The store forgets it, too. */
  close(reason: CloseReason.CloseReason): Effect.Effect<void>
}

/**
 * What is asked of a host that opens a session.
 *
 * @category models
 */
export interface OpenOptions {
  /** What it comes over, in a word, such as `"streamable-http"`; it distinguishes sessions in listings and metrics. */
  readonly kind: string
  /** Default: one that nobody can guess. No other session of the host may have it. */
  readonly id?: string | undefined
  /** To whom it belongs. */
  readonly principal?: Principal.Principal | undefined
  /**
   * Distinguishes clients without a principal, such as by their addresses, so that none of them keeps the others out of
   * a full host. Default: they are not distinguished.
   */
  readonly client?: string | undefined
  /**
   * What the client has said before, and been answered: the session is told first, and its replies go nowhere.
   */
  readonly handshakeMessages?: ReadonlyArray<JsonRpc.Message> | undefined
}

/**
 * What is asked of a host that restores a session.
 *
 * @category models
 */
export interface RestoreOptions {
  /** What it comes over, in a word. */
  readonly kind: string
  /** Who asks for it. What belongs to somebody else is not there for them. */
  readonly principal?: Principal.Principal | undefined
  /** Distinguishes clients without a principal, as in `OpenOptions`. */
  readonly client?: string | undefined
}

/**
 * A session as a listing has it.
 *
 * @category models
 */
export interface SessionInfo {
  /** Who knows it can act for the client. */
  readonly id: string
  readonly kind: string
  /** The `id` of the principal. */
  readonly principal: string | undefined
  /** Who the client says it is, once it has. */
  readonly client: Implementation.Implementation | undefined
  /** What was agreed on, once it was. */
  readonly revision: Revision.Revision | undefined
  /** Whether the handshake is finished. */
  readonly operating: boolean
  /** Milliseconds since the epoch. */
  readonly openedAt: number
  /** Milliseconds since the epoch. */
  readonly usedAt: number
  /** How many requests are in flight, of both sides together. */
  readonly inFlight: number
  /** How many hold it. */
  readonly held: number
}

/**
 * How a host is.
 *
 * @category models
 */
export interface Health {
  /**
   * Whether an anonymous client could open a session now: in a free place, or in that of a session that is evicted for
   * it.
   */
  readonly accepting: boolean
  /** Is it about to go? */
  readonly draining: boolean
  /** How many sessions it has, those that are ending included. */
  readonly sessions: number
  /** How many of these have not finished their handshakes. */
  readonly handshaking: number
  /** How many it may have. */
  readonly limit: number
  /** As in `HostFull`, for an anonymous client; `undefined` while the host is accepting. */
  readonly retryAfterMillis: number | undefined
}

/**
 * What a host does.
 *
 * @category models
 */
export interface SessionHostShape {
  /**
   * Opens a session over this transport and keeps it, until it ends by itself, expires, is evicted or closed, or the
   * host goes. A full host makes room first, as `HostLimits.Options` describes. Fails with `HostFull` before anything
   * is connected.
   */
  readonly open: (
    transport: Transport["Service"],
    options: OpenOptions
  ) => Effect.Effect<Hosted, HostFull | TransportError>
  /** The session with this id, if there is one and it has not begun to end (SHS-26). */
  readonly find: (id: string) => Hosted | undefined
  /**
   * The session with this id: the one that is here, or else what the store remembers of it, opened over this transport. `undefined`
   * where neither knows it, or where it has expired. It keeps its id, its principal's id and its age; the log level and the
   * subscriptions that the client had set are gone. Who restores the same session at the same time gets the same, over the
   * transport of the first. A store that does not answer within 5 seconds, or throws, has failed.
   */
  readonly restore: (
    id: string,
    transport: Transport["Service"],
    options: RestoreOptions
  ) => Effect.Effect<Hosted | undefined, HostFull | TransportError | SessionStoreError>
  /**
   * Has the store remember the session, with what its client has said to open it: `initialize`, and once more with
   * `notifications/initialized`. Without a store it does nothing. If the store fails, the session goes on and cannot be
   * restored; the event `SessionStoreFailed` and a warning tell so.
   */
  readonly remember: (
    hosted: Hosted,
    handshakeMessages: ReadonlyArray<JsonRpc.Request | JsonRpc.Notification>
  ) => Effect.Effect<void>
  /** The sessions there are now. */
  readonly sessions: Effect.Effect<ReadonlyArray<SessionInfo>>
  /** How the host is now. */
  readonly health: Effect.Effect<Health>
  /**
   * Lets nobody in any more, closes all sessions, each with the time that its limits give it, and waits until none is left. The
   * store keeps them, for another host or for this one after a restart.
   */
  readonly drain: Effect.Effect<void>
}

/**
 * The host of a server's sessions.
 *
 * @example
 * ```ts
 * import { SessionHost } from "@effect-mcp/session"
 * import * as Effect from "effect/Effect"
 *
 * // Whoever is still there, and what with.
 * export const clients = Effect.gen(function*() {
 *   const host = yield* SessionHost.SessionHost
 *   const sessions = yield* host.sessions
 *   return sessions.map(({ client, revision }) => `${client?.name} (${revision})`)
 * })
 * ```
 *
 * @category services
 */
export class SessionHost extends Context.Service<SessionHost, SessionHostShape>()("@effect-mcp/session/SessionHost") {}

/**
 * Makes a host. Leaving the scope drains it. The services of the handlers, and a `SessionStore` if there is one, are those of whoever
 * makes the host, not of whoever opens a session.
 *
 * @example
 * ```ts
 * import { Content } from "@effect-mcp/protocol"
 * import { ClientSession, MemoryTransport, SessionHost, Transport } from "@effect-mcp/session"
 * import * as Effect from "effect/Effect"
 *
 * const info = { name: "example", version: "1.0.0" }
 *
 * export const clients = Effect.gen(function*() {
 *   const host = yield* SessionHost.make({
 *     "tools/call": () => Effect.succeed({ content: [Content.text("42")] })
 *   }, { info, sessions: { max: 100, idle: "10 minutes" } })
 *   const pair = yield* MemoryTransport.make()
 *   yield* host.open(pair.server, { kind: "memory" })
 *   const client = yield* ClientSession.make({ info }).pipe(Effect.provideService(Transport.Transport, pair.client))
 *   yield* client.ping()
 *   return (yield* host.sessions).length
 * }).pipe(Effect.scoped) // => 1
 * ```
 *
 * @category constructors
 */
export const make = Effect.fnUntraced(function*<const H extends Handlers.Handlers<"client", unknown>, R = never>(
  handlers: H & Handlers.Only<H, "client">,
  options: Options<R>
): Effect.fn.Return<SessionHostShape, never, Scope.Scope | Handlers.ServicesOf<H, "client"> | R> {
  const limits = HostLimits.make(options.sessions)
  const lifetimes: Expiry.Lifetimes = {
    initialize: Duration.toMillis(options.limits?.initializeTimeout ?? "30 seconds"),
    handshake: limits.handshakeTimeout,
    idle: limits.idle,
    age: limits.maxAge
  }
  const gracefulCloseMillis = SessionLimits.make(options.limits).gracefulCloseTimeout
  const { sessions: _, observe, ...common } = options
  // The host closes what does not open, so that no session needs a timer for that.
  const server = ServerSessionImplementation.prepare(handlers, {
    ...common,
    limits: { ...options.limits, initializeTimeout: Duration.infinity }
  })

  const context = yield* Effect.context<never>()
  const clock = yield* Clock.Clock
  const fork = Effect.runForkWith(context)
  const all = Scope.makeUnsafe("parallel")

  const sessions = new Map<string, HostedSession>()
  const expiry = new Expiry.Expiry({ clock, sessions, lifetimes, fork })
  const places = new SessionSlots({ limits, now: () => expiry.now(timer.now()), steady: () => timer.now() })
  const store = Option.getOrUndefined(
    Option.map(
      yield* Effect.serviceOption(SessionStore),
      (service) =>
        new HostStore.HostStore(service, {
          sessions,
          now: () => timer.now(),
          fork,
          failed: (hosted, operation, cause) => tell(hosted, { _tag: "SessionStoreFailed", operation, cause })
        })
    )
  )
  // Those that are being connected: they have their places already.
  const arriving = new Map<string, HostedSession>()
  const waiting: Array<Deferred.Deferred<void>> = []
  let draining = false

  const now = () => clock.currentTimeMillisUnsafe()

  /** Tells of something that happened to a session, also when it has closed. */
  const tell = (hosted: HostedSession, event: SessionEvent) => {
    const { core } = hosted.session
    if (core.state()._tag !== "Closed") return core.emit(event)
    try {
      observe?.(event, hosted.id)
    } catch (thrown) {
      fork(Effect.logError("a session's observer threw", thrown))
    }
  }

  // ===================================================================================================================
  // Coming and going
  // ===================================================================================================================

  const leaving = () => new HostFull({ scope: "draining", limit: 0, retryAfterMillis: gracefulCloseMillis })

  const live = (kind: string, change: 1 | -1) =>
    Metric.modify(Metric.withAttributes(Metrics.serverSessions, { "mcp.session.kind": kind }), change)

  const leave = (hosted: HostedSession) => {
    sessions.delete(hosted.id)
    if (!hosted.evicted) places.giveBack(hosted.principal)
    if (sessions.size > 0) return
    timer.rest()
    for (const waiter of waiting.splice(0)) Deferred.doneUnsafe(waiter, Exit.void)
  }

  /** Nothing is left of a session but its place here, and what the store knows of it. */
  const departed = (hosted: HostedSession, scope: Scope.Closeable) => {
    if (sessions.get(hosted.id) !== hosted) return
    const forgotten = store === undefined || hosted.kept ? Effect.void : store.remove(hosted)
    hosted.leaving = fork(
      forgotten.pipe(
        Effect.andThen(Effect.sync(() => leave(hosted))),
        Effect.andThen(live(hosted.kind, -1)),
        Effect.andThen(Scope.close(scope, Exit.void))
      )
    )
  }

  /** Waits until nothing is left of a session that ends. */
  const gone = (hosted: HostedSession): Effect.Effect<void> =>
    Effect.andThen(
      hosted.session.closed,
      Effect.suspend(() => hosted.leaving === undefined ? Effect.void : Effect.asVoid(Fiber.await(hosted.leaving)))
    )

  const keeper: Keeper = {
    now,
    places,
    close: (hosted, reason) =>
      Effect.suspend(() => {
        hosted.kept = false
        hosted.session.core.end({ _tag: "Close", reason })
        return gone(hosted)
      })
  }

  /**
   * Ends a session whose place is a newcomer's, and returns what waits until nothing is left of it. The store does not
   * keep a session whose handshake is not finished: there is nothing in it to come back to, and a flood of them would
   * fill the store.
   */
  const evict = (hosted: HostedSession): Effect.Effect<void> => {
    const { held, kind, operates } = hosted
    const of = operates ? held > 0 ? "held" : "idle" : "handshake"
    hosted.kept = operates && hosted.stored === "Yes"
    const afterMillis = Math.max(now() - (of === "held" ? hosted.openedAt : hosted.aloneSince), 0)
    hosted.session.core.end({ _tag: "Close", reason: { _tag: "Evicted", afterMillis, of } })
    const attributes = { "mcp.session.kind": kind, "mcp.session.eviction": of }
    return Effect.andThen(
      Metric.update(Metric.withAttributes(Metrics.serverSessionsEvicted, attributes), 1),
      gone(hosted)
    )
  }

  const connect = (
    hosted: HostedSession,
    handshakeMessages: ReadonlyArray<JsonRpc.Message> | undefined
  ): Effect.Effect<HostedSession, HostFull | TransportError> =>
    Effect.uninterruptibleMask((restore) => {
      const scope = Scope.forkUnsafe(all)
      const delivered = handshakeMessages === undefined ? undefined : Deferred.makeUnsafe<void>()
      const deliver = () => delivered !== undefined && Deferred.doneUnsafe(delivered, Exit.void)
      const opened = server.open({
        transport: handshakeMessages === undefined
          ? hosted.transport
          : HandshakeReplay.over(hosted.transport, handshakeMessages, deliver),
        context,
        clock,
        observe: observe === undefined ? undefined : (event) => observe(event, hosted.id),
        onState: (state) => {
          if (state === "Operating") return hosted.operating()
          if (state !== "Negotiated") return
          hosted.negotiated()
          timer.watch(timer.now() + lifetimes.handshake)
        },
        onEnd: () => {
          hosted.beginToEnd()
          deliver()
        },
        onClosed: () => departed(hosted, scope)
      })
      // Whoever opens a session may be a request, whose services shall not live as long as the session does.
      const services: (caller: Context.Context<never>) => Context.Context<Scope.Scope> = () =>
        Context.add(context, Scope.Scope, scope)
      const own = Effect.updateContext(opened, services)
      return restore(delivered === undefined ? own : Effect.tap(own, () => Deferred.await(delivered))).pipe(
        Effect.flatMap((session): Effect.Effect<HostedSession, HostFull | TransportError> => {
          if (draining) return Effect.fail(leaving())
          if (hosted.phase === "Ending") {
            return Effect.fail(TransportErrors.make({ _tag: "PeerEnded", exit: undefined }))
          }
          hosted.begin(session)
          sessions.set(hosted.id, hosted)
          timer.watch(timer.now() + soonest)
          return Effect.as(live(hosted.kind, 1), hosted)
        }),
        Effect.onError((cause) => Scope.close(scope, Exit.failCause(cause)))
      )
    })

  const placeFor = (newcomer: Newcomer): Taken | HostFull => {
    if (draining) return leaving()
    const taken = places.take(newcomer)
    if (taken._tag === "Taken") return taken
    const { limit, retryAfterMillis, scope } = taken
    return new HostFull({ scope, limit, retryAfterMillis })
  }

  const admit = (
    transport: Transport["Service"],
    { client, id = SessionId.make(), kind, handshakeMessages, principal }: OpenOptions,
    openedAt: number
  ): Effect.Effect<HostedSession, HostFull | TransportError> =>
    // Whoever has taken a place gives it back.
    Effect.uninterruptibleMask((restore) => {
      if (sessions.has(id) || arriving.has(id)) {
        return Effect.die(new Error(`there is a session with the id ${id} already`))
      }
      const taken = placeFor({ principal, client })
      if (taken._tag === "HostFull") {
        const counter = Metric.withAttributes(Metrics.serverSessionsRefused, {
          "mcp.session.kind": kind,
          "error.type": taken.scope
        })
        return Effect.andThen(Metric.update(counter, 1), Effect.fail(taken))
      }
      const hosted = new HostedSession(keeper, { id, kind, principal, client, transport, openedAt })
      arriving.set(id, hosted)
      // There are never more sessions than there may be: the newcomer waits until nothing is left of the victim.
      const evicted = taken.victim === undefined ? Effect.void : evict(taken.victim)
      return restore(Effect.andThen(evicted, connect(hosted, handshakeMessages))).pipe(
        Effect.ensuring(Effect.sync(() => {
          arriving.delete(id)
          // A session that has begun gives its place back when it has ended, also where its opener is interrupted just
          // then.
          if (!hosted.hasBegun) places.giveBack(principal)
        }))
      )
    })

  // ===================================================================================================================
  // Time
  // ===================================================================================================================

  /** When there may be something to do about a new session, or to tell the store. */
  const soonest = Math.min(
    ...Object.values(lifetimes),
    store === undefined ? Number.POSITIVE_INFINITY : HostStore.tellingMillis
  )

  const timer: Timer = new Timer({
    clock,
    fork,
    expire: (time) => {
      const ends = expiry.endDue(time)
      if (sessions.size === 0) return Number.POSITIVE_INFINITY
      const tells = store === undefined ? Number.POSITIVE_INFINITY : store.tellWhenDue(time)
      return Math.max(Math.min(ends, tells), time + Expiry.coarseness)
    }
  })

  // ===================================================================================================================
  // Elsewhere and later
  // ===================================================================================================================

  const find: SessionHostShape["find"] = (id) => {
    const hosted = sessions.get(id)
    return hosted?.phase === "Live" ? hosted : undefined
  }

  const restoring = store === undefined ? undefined : new Restorer<HostFull | TransportError>({
    store,
    sessions,
    lifetimes,
    now,
    fork,
    isDraining: () => draining,
    gone,
    admit: (transport, options, openedAt) => admit(transport, options, openedAt)
  })

  /** The session, if it is here and this principal's. */
  const theirs = (id: string, principal: Principal.Principal | undefined): Hosted | undefined => {
    const hosted = find(id)
    return hosted !== undefined && Principal.isSame(hosted.principal, principal) ? hosted : undefined
  }

  const empty = Effect.suspend(() => {
    if (sessions.size === 0) return Effect.void
    const waiter = Deferred.makeUnsafe<void>()
    waiting.push(waiter)
    return Deferred.await(waiter)
  })

  const drain = Effect.suspend(() => {
    draining = true
    return Effect.andThen(
      store === undefined ? Effect.void : store.finish(),
      Effect.suspend(() => {
        for (const hosted of sessions.values()) {
          if (hosted.phase !== "Live") continue
          hosted.kept = true
          hosted.session.core.end({ _tag: "Close", reason: CloseReason.requested })
        }
        return empty
      })
    )
  })

  yield* Effect.addFinalizer(() =>
    drain.pipe(
      Effect.andThen(store === undefined ? Effect.void : store.abandon()),
      Effect.andThen(restoring === undefined ? Effect.void : restoring.abandon()),
      Effect.andThen(Scope.close(all, Exit.void))
    )
  )

  return {
    open: (transport, options) => Effect.suspend(() => admit(transport, options, now())),
    find,
    restore: (id, transport, options) =>
      Effect.suspend(() => restoring?.restore(id, transport, options) ?? Effect.succeed(theirs(id, options.principal))),
    remember: ({ id }, handshakeMessages) =>
      Effect.suspend(() => {
        const hosted = sessions.get(id)
        return restoring === undefined || hosted?.phase !== "Live"
          ? Effect.void
          : restoring.remember(hosted, handshakeMessages)
      }),
    sessions: Effect.sync(() => Array.from(sessions.values()).filter(({ phase }) => phase === "Live").map(listing)),
    health: Effect.sync(() => {
      const room = draining ? leaving() : places.look({ principal: undefined, client: undefined })
      return {
        accepting: room === undefined,
        draining,
        sessions: places.taken,
        handshaking: places.handshaking,
        limit: limits.max,
        retryAfterMillis: room?.retryAfterMillis
      }
    }),
    drain
  }
})

const listing = (hosted: HostedSession): SessionInfo => ({
  id: hosted.id,
  kind: hosted.kind,
  principal: hosted.principal?.id,
  client: hosted.session.client?.info,
  revision: hosted.session.client?.revision,
  operating: hosted.operates,
  openedAt: hosted.openedAt,
  usedAt: hosted.usedAt,
  inFlight: hosted.inFlight,
  held: hosted.held
})

/**
 * The host as a Layer. One constant of it is one host, wherever it is provided at the same time.
 *
 * @example
 * ```ts
 * import { Content } from "@effect-mcp/protocol"
 * import { ServerSession, SessionHost } from "@effect-mcp/session"
 * import * as Effect from "effect/Effect"
 *
 * const handlers = ServerSession.handlers({
 *   "tools/call": () => Effect.succeed({ content: [Content.text("42")] })
 * })
 *
 * export const host = SessionHost.layer(handlers, {
 *   info: { name: "example", version: "1.0.0" },
 *   sessions: { maxPerPrincipal: 20 }
 * })
 * ```
 *
 * @category layers
 */
export const layer = <const H extends Handlers.Handlers<"client", unknown>, R = never>(
  handlers: H & Handlers.Only<H, "client">,
  options: Options<R>
): Layer.Layer<SessionHost, never, Exclude<Handlers.ServicesOf<H, "client"> | R, Scope.Scope>> =>
  Layer.effect(SessionHost, make<H, R>(handlers, options))

/**
 * Drains the host when it is closed. Build it behind what serves the host's sessions, so that it closes first: requests are then
 * still taken while their sessions come to their ends. Wherever it is provided it is another one, for the host that is there.
 *
 * @example
 * ```ts
 * import { SessionHost } from "@effect-mcp/session"
 * import * as Layer from "effect/Layer"
 *
 * export const gracefully = <E, R>(server: Layer.Layer<SessionHost.SessionHost, E, R>) =>
 *   Layer.provide(SessionHost.layerDrain, server)
 * ```
 *
 * @category layers
 */
export const layerDrain: Layer.Layer<never, never, SessionHost> = Layer.fresh(
  Layer.effectDiscard(Effect.flatMap(SessionHost, (host) => Effect.addFinalizer(() => host.drain)))
)

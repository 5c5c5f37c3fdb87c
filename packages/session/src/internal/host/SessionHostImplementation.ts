/** The implementation of `SessionHost`: it connects the table, slots, store, timer, opener and closer of one host. */

import { CloseReason } from "@effect-mcp/protocol"
import { LoadedPackages } from "@effect-mcp/protocol/internal"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type * as Fiber from "effect/Fiber"
import * as Option from "effect/Option"
import * as Scope from "effect/Scope"
import type * as Handlers from "../../Handlers.ts"
import type * as HostLimits from "../../HostLimits.ts"
import * as Limits from "../../Limits.ts"
import type { SessionEvent } from "../../SessionEvent.ts"
import { SessionStore } from "../../SessionStore.ts"
import type { TransportError } from "../../TransportError.ts"
import { Timer } from "../engine/Timer.ts"
import * as ServerDefinition from "../server/ServerDefinition.ts"
import * as ServerSessionImplementation from "../server/ServerSessionImplementation.ts"
import * as StatelessServerImplementation from "../server/StatelessServerImplementation.ts"
import { thisPackage } from "../thisPackage.ts"
import * as Broadcast from "./Broadcast.ts"
import * as Expiry from "./Expiry.ts"
import type { HostedSession, HostedSessionDependencies } from "./HostedSession.ts"
import * as HostStore from "./HostStore.ts"
import * as ResolvedLimits from "./ResolvedLimits.ts"
import * as Restorer from "./Restorer.ts"
import { SessionCloser } from "./SessionCloser.ts"
import { type Health, type Hosted, HostFullError, type SessionHostShape } from "./SessionHostShape.ts"
import { SessionOpener } from "./SessionOpener.ts"
import { SessionSlots } from "./SessionSlots.ts"
import { SessionTable } from "./SessionTable.ts"

/** Options for a host: those of its server, and those of its sessions. */
export interface Options extends Omit<ServerSessionImplementation.Options, "observe" | "stateless"> {
  readonly sessions?: HostLimits.Options
  readonly observe?: (event: SessionEvent, id: string) => void
  readonly onOpened?: (hosted: Hosted) => void
  readonly onClosed?: (hosted: Hosted, reason: CloseReason.CloseReason) => void
}

/** The environment of a host, from the program that makes it. */
interface Environment {
  readonly context: Context.Context<never>
  readonly clock: Clock.Clock
  /** The scope of all sessions. The host closes it. */
  readonly scope: Scope.Closeable
}

/**
 * Makes a host. Leaving the scope drains it. The handlers run with the services of the calling program, and a
 * `SessionStore` among them is used.
 */
export const make = Effect.fnUntraced(function*(
  handlers: Handlers.Handlers<"client", unknown>,
  options: Options
): Effect.fn.Return<SessionHostShape, never, Scope.Scope> {
  LoadedPackages.check(thisPackage)
  const context = yield* Effect.context<never>()
  const clock = yield* Clock.Clock
  const scope = Scope.makeUnsafe("parallel")
  const host = new SessionHostImplementation(handlers, options, { context, clock, scope })
  yield* Effect.addFinalizer(() => host.shutDown())
  return host
})

/** One host. Its public members are fields, so that programs can pass them around. */
export class SessionHostImplementation implements SessionHostShape {
  readonly #limits: ResolvedLimits.ResolvedLimits
  readonly #lifetimes: Expiry.Lifetimes
  /** The time after which a new session may be due, or the store may need to learn of its use, in milliseconds. */
  readonly #firstCheckMillis: number
  /** The time that sessions have to finish their requests when they close. */
  readonly #gracefulMillis: number
  readonly #observe: Options["observe"]
  readonly #clock: Clock.Clock
  readonly #fork: <A, E>(effect: Effect.Effect<A, E>) => Fiber.Fiber<A, E>
  readonly #scope: Scope.Closeable
  readonly #timer: Timer
  readonly #table: SessionTable
  readonly #slots: SessionSlots
  readonly #expiry: Expiry.Expiry
  readonly #store: HostStore.HostStore | undefined
  readonly #opener: SessionOpener
  readonly #closer: SessionCloser
  readonly #restorer: Restorer.Restorer<HostFullError | TransportError> | undefined
  readonly stateless: StatelessServerImplementation.StatelessServer
  #draining = false

  constructor(
    handlers: Handlers.Handlers<"client", unknown>,
    { observe, onClosed, onOpened, sessions, ...server }: Options,
    { clock, context, scope }: Environment
  ) {
    this.#limits = ResolvedLimits.resolve(sessions)
    this.#lifetimes = {
      initialize: Duration.toMillis(server.limits?.initializeTimeout ?? "30 seconds"),
      handshake: this.#limits.handshakeTimeout,
      idle: this.#limits.idleTimeout,
      age: this.#limits.maxAge
    }
    this.#gracefulMillis = Limits.make(server.limits).gracefulTimeout
    this.#observe = observe
    this.#clock = clock
    this.#fork = Effect.runForkWith(context)
    this.#scope = scope
    this.stateless = StatelessServerImplementation.makeWith(
      handlers,
      {
        ...server,
        revisions: ServerDefinition.revisionsWithSessions(handlers, server),
        ...(observe === undefined ? undefined : { observe: (event) => observe(event, "") })
      },
      context,
      clock
    )
    const fork = this.#fork
    const now = this.#now
    const steady = () => this.#timer.now()
    this.#timer = new Timer({ clock, fork, expire: (time) => this.#expire(time) })
    this.#table = new SessionTable({ onEmpty: () => this.#timer.rest() })
    const table = this.#table
    this.#expiry = new Expiry.Expiry({ clock, sessions: table.all, lifetimes: this.#lifetimes, fork })
    this.#slots = new SessionSlots({ limits: this.#limits, now: () => this.#expiry.now(steady()), steady })
    this.#store = Option.getOrUndefined(Option.map(
      Context.getOption(context, SessionStore),
      (service) =>
        new HostStore.HostStore(service, {
          sessions: table.all,
          now: steady,
          fork,
          failed: (hosted, operation, cause) => this.#emit(hosted, { _tag: "SessionStoreFailed", operation, cause })
        })
    ))
    this.#firstCheckMillis = Math.min(
      ...Object.values(this.#lifetimes),
      this.#store === undefined ? Number.POSITIVE_INFINITY : HostStore.touchIntervalMillis
    )
    this.#closer = new SessionCloser({ table, slots: this.#slots, store: this.#store, now, fork })
    const sessionDependencies: HostedSessionDependencies = {
      now,
      slots: this.#slots,
      close: (hosted, reason) => this.#closer.close(hosted, reason)
    }
    this.#opener = new SessionOpener({
      // The host closes the sessions whose handshake takes too long, so that no session needs a timer for that.
      server: ServerSessionImplementation.prepare(handlers, {
        ...server,
        limits: { ...server.limits, initializeTimeout: Duration.infinity }
      }, { isShared: true }),
      table,
      slots: this.#slots,
      closer: this.#closer,
      sessionDependencies,
      context,
      clock,
      scope,
      observe,
      draining: () => this.#draining ? this.#drainingError() : undefined,
      onOpened: (hosted) => {
        this.#timer.watch(steady() + Math.min(this.#firstCheckMillis, Math.max(hosted.endsAt - now(), 0)))
        this.#contain("onOpened", () => onOpened?.(hosted))
      },
      onClosed: (hosted, reason) => this.#contain("onClosed", () => onClosed?.(hosted, reason)),
      onNegotiated: () => this.#timer.watch(steady() + this.#lifetimes.handshake)
    })
    this.#restorer = this.#store === undefined ? undefined : new Restorer.Restorer({
      store: this.#store,
      table,
      lifetimes: this.#lifetimes,
      now,
      fork,
      isDraining: () => this.#draining,
      awaitRemoval: (hosted) => this.#closer.awaitRemoval(hosted),
      open: (transport, options, openedAt) => this.#opener.open(transport, options, openedAt)
    })
  }

  // ===================================================================================================================
  // The members of `SessionHost`
  // ===================================================================================================================

  readonly open: SessionHostShape["open"] = (transport, options) =>
    Effect.suspend(() => this.#opener.open(transport, options, this.#now()))

  readonly find: SessionHostShape["find"] = (id) => this.#table.find(id)

  readonly restore: SessionHostShape["restore"] = (id, transport, options) =>
    Effect.suspend(() => {
      if (this.#restorer !== undefined) return this.#restorer.restore(id, transport, options)
      const hosted = this.#table.find(id)
      return Effect.succeed(hosted === undefined ? Restorer.notFound : Restorer.present(hosted, options.principal))
    })

  readonly remember: SessionHostShape["remember"] = ({ id }, handshakeMessages) =>
    Effect.suspend(() => {
      const hosted = this.#table.find(id)
      return this.#restorer === undefined || hosted === undefined
        ? Effect.void
        : this.#restorer.save(hosted, handshakeMessages)
    })

  readonly closePrincipal: SessionHostShape["closePrincipal"] = (id) =>
    Effect.suspend(() => {
      this.stateless.endStreamsOf(id)
      return Effect.forEach(
        this.#table.live().filter(({ principal }) => principal?.id === id),
        (hosted) => hosted.close(CloseReason.requested),
        { concurrency: "unbounded", discard: true }
      )
    })

  readonly sessions: SessionHostShape["sessions"] = Effect.sync(() => this.#table.list())

  readonly broadcast: SessionHostShape["broadcast"] = (send, options) =>
    Effect.suspend(() =>
      Broadcast.run(
        // A client without a handshake counts as operating, also if it finishes one later on the same connection.
        this.#table.live().filter(({ session }) => session.runtime.state()._tag === "Operating"),
        send,
        options
      )
    )

  readonly health: SessionHostShape["health"] = Effect.sync((): Health => {
    const full = this.#draining ? this.#drainingError() : this.#slots.look({ principal: undefined, client: undefined })
    return {
      accepting: full === undefined,
      draining: this.#draining,
      sessions: this.#slots.taken,
      handshaking: this.#slots.handshaking,
      limit: this.#limits.max,
      retryAfterMillis: full?.retryAfterMillis
    }
  })

  readonly drain: SessionHostShape["drain"] = Effect.suspend(() => {
    this.#draining = true
    return Effect.andThen(
      this.#store === undefined ? Effect.void : this.#store.flush(),
      Effect.suspend(() => {
        this.#closer.unloadAll()
        return Effect.all([this.#table.awaitEmpty(), this.stateless.drain], { concurrency: 2, discard: true })
      })
    )
  })

  // ===================================================================================================================
  // Shutdown
  // ===================================================================================================================

  /** Drains the host, and stops everything that it runs. */
  shutDown(): Effect.Effect<void> {
    return this.drain.pipe(
      Effect.andThen(this.#store === undefined ? Effect.void : this.#store.stop()),
      Effect.andThen(this.#restorer === undefined ? Effect.void : this.#restorer.stop()),
      Effect.andThen(Scope.close(this.#scope, Exit.void))
    )
  }

  #drainingError(): HostFullError {
    return new HostFullError({ scope: "draining", limit: 0, retryAfterMillis: this.#gracefulMillis })
  }

  // ===================================================================================================================
  // Time
  // ===================================================================================================================

  readonly #now = (): number => this.#clock.currentTimeMillisUnsafe()

  /** Closes the sessions that are due, informs the store of use, and returns the time of the next check. */
  #expire(time: number): number {
    const nextEnd = this.#expiry.endDue(time)
    if (this.#table.all.size === 0) return Number.POSITIVE_INFINITY
    const nextTouch = this.#store === undefined ? Number.POSITIVE_INFINITY : this.#store.touchWhenDue(time)
    return Math.max(Math.min(nextEnd, nextTouch), time + Expiry.coarseness)
  }

  // ===================================================================================================================
  // Observing
  // ===================================================================================================================

  /** Calls a function of the program. The host continues if it throws. */
  #contain(name: string, call: () => void): void {
    try {
      call()
    } catch (thrown) {
      this.#fork(Effect.logError(`the option ${name} of a host threw`, thrown))
    }
  }

  /** Emits an event of a session. A closed session has no observers any more, so the host calls its own. */
  #emit(hosted: HostedSession, event: SessionEvent): void {
    const { runtime } = hosted.session
    if (runtime.state()._tag !== "Closed") return runtime.emit(event)
    try {
      this.#observe?.(event, hosted.id)
    } catch (thrown) {
      this.#fork(Effect.logError("a session's observer threw", thrown))
    }
  }
}

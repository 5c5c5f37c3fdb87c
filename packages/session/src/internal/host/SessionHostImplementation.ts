/** The implementation of `SessionHost`: it connects the table, slots, store, timer, opener and closer of one host. */

import { CloseReason } from "@effect-mcp/protocol"
import { LoadedPackages } from "@effect-mcp/protocol/internal"
import * as Cause from "effect/Cause"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type * as Fiber from "effect/Fiber"
import * as Option from "effect/Option"
import * as Scope from "effect/Scope"
import * as Handlers from "../../Handlers.ts"
import type * as HostLimits from "../../HostLimits.ts"
import * as Limits from "../../Limits.ts"
import type { SessionEvent } from "../../SessionEvent.ts"
import { SessionStore, SessionStoreError } from "../../SessionStore.ts"
import type { TransportError } from "../../TransportError.ts"
import { ChangeBus } from "../bus/ChangeBusShape.ts"
import * as ForeignCall from "../engine/ForeignCall.ts"
import { Timer } from "../engine/Timer.ts"
import { SessionOwners } from "../owners/SessionOwnersShape.ts"
import * as HandlerScopes from "../server/HandlerScopes.ts"
import * as ServerDefinition from "../server/ServerDefinition.ts"
import * as ServerSessionImplementation from "../server/ServerSessionImplementation.ts"
import * as StatelessServerImplementation from "../server/StatelessServerImplementation.ts"
import { thisPackage } from "../thisPackage.ts"
import * as Broadcast from "./Broadcast.ts"
import * as Expiry from "./Expiry.ts"
import { FairTurns } from "./FairTurns.ts"
import type { HostedSession, HostedSessionDependencies } from "./HostedSession.ts"
import { HostOwners } from "./HostOwners.ts"
import * as HostStore from "./HostStore.ts"
import { PrincipalEnds } from "./PrincipalEnds.ts"
import * as ResolvedLimits from "./ResolvedLimits.ts"
import * as Restorer from "./Restorer.ts"
import { SessionCloser } from "./SessionCloser.ts"
import * as SessionFacts from "./SessionFacts.ts"
import {
  type Health,
  type Hosted,
  HostFullError,
  type OwnerUnknownError,
  type SessionHostShape,
  type SessionPlace
} from "./SessionHostShape.ts"
import { SessionOpener } from "./SessionOpener.ts"
import { SessionPrincipals } from "./SessionPrincipals.ts"
import { SessionSlots } from "./SessionSlots.ts"
import { SessionTable } from "./SessionTable.ts"

/** Options for a host: those of its server, and those of its sessions. */
export interface Options extends Omit<ServerSessionImplementation.Options, "observe" | "stateless"> {
  readonly sessions?: HostLimits.Options
  readonly observe?: (event: SessionEvent, id: string) => void
  readonly onOpened?: (hosted: Hosted) => void
  readonly onClosed?: (hosted: Hosted, reason: CloseReason.CloseReason) => void
}

const here: Exit.Exit<SessionPlace> = Exit.succeed({ _tag: "Here" })

const unowned: Exit.Exit<SessionPlace> = Exit.succeed({ _tag: "Unowned" })

/** The environment of a host, from the program that makes it. */
interface Environment {
  readonly context: Context.Context<never>
  readonly clock: Clock.Clock
  /** The scope of all sessions. The host closes it. */
  readonly scope: Scope.Closeable
}

/**
 * Makes a host. Leaving the scope drains it. The handlers run with the services of the calling program, and a
 * `SessionStore` among them is used, and `SessionOwners` beside one. `closePrincipal` uses a `ChangeBus`.
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
  const owners = Context.getOption(context, SessionOwners)
  if (Option.isSome(owners)) yield* owners.value.onLost((id, epoch) => host.lost(id, epoch))
  yield* host.ends.listen
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
  readonly #owners: HostOwners | undefined
  readonly #principals: SessionPrincipals
  readonly #opener: SessionOpener
  readonly #closer: SessionCloser
  readonly ends: PrincipalEnds
  readonly #restorer: Restorer.Restorer<HostFullError | OwnerUnknownError | TransportError> | undefined
  readonly stateless: StatelessServerImplementation.StatelessServer
  readonly calls: SessionHostShape["calls"]
  /** The work that a drain waits for beside the sessions. */
  readonly #drains = new Set<Effect.Effect<void>>()
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
    const store = Context.getOption(context, SessionStore)
    const turns = new FairTurns(HostStore.concurrentLoads)
    // Without a store, no other process can take a session over.
    this.#owners = Option.getOrUndefined(Option.map(
      Option.isSome(store) ? Context.getOption(context, SessionOwners) : Option.none(),
      (owners) => new HostOwners(owners, { now: steady, turns })
    ))
    this.#store = Option.getOrUndefined(Option.map(
      store,
      (service) =>
        new HostStore.HostStore(service, {
          sessions: table.all,
          now: steady,
          fork,
          failed: (hosted, operation, cause) => this.#emit(hosted, { _tag: "SessionStoreFailed", operation, cause }),
          superseded: (hosted) => this.#closer.supersede(hosted),
          owners: this.#owners,
          turns
        })
    ))
    this.#principals = new SessionPrincipals({ sessions: table.all, store: this.#store })
    this.ends = new PrincipalEnds({
      bus: Option.getOrUndefined(Context.getOption(context, ChangeBus)),
      store: Option.getOrUndefined(store),
      owners: this.#owners,
      principals: () =>
        new Set([
          ...table.live().flatMap(({ principal }) => principal === undefined ? [] : [principal.id]),
          ...this.stateless.principals()
        ]),
      end: (principal) => this.#endPrincipal(principal),
      endStreams: () => this.stateless.endPrincipalStreams(),
      fork
    })
    this.#firstCheckMillis = Math.min(
      ...Object.values(this.#lifetimes),
      this.#store === undefined ? Number.POSITIVE_INFINITY : HostStore.touchIntervalMillis
    )
    this.#closer = new SessionCloser({ table, slots: this.#slots, store: this.#store, owners: this.#owners, now, fork })
    const sessionDependencies: HostedSessionDependencies = {
      now,
      slots: this.#slots,
      close: (hosted, reason) => this.#closer.close(hosted, reason),
      supersede: (hosted) => this.#closer.supersede(hosted),
      sendUpdates: (hosted) => void fork(this.#sendUpdates(hosted))
    }
    // The scopes are attached to the handlers of the program.
    const scopesOf = server.scopesOf ?? HandlerScopes.of(handlers)
    // The host closes the sessions whose handshake takes too long, so that no session needs a timer for that.
    const prepared = ServerSessionImplementation.prepare(this.#withFacts(handlers, server), {
      ...server,
      ...(scopesOf === undefined ? undefined : { scopesOf }),
      limits: { ...server.limits, initializeTimeout: Duration.infinity }
    }, { isShared: true })
    this.calls = prepared.tasks?.calls
    this.#opener = new SessionOpener({
      server: prepared,
      table,
      slots: this.#slots,
      closer: this.#closer,
      owners: this.#owners,
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
      owners: this.#owners,
      draining: () => this.#draining ? this.#drainingError() : undefined,
      awaitRemoval: (hosted) => this.#closer.awaitRemoval(hosted),
      open: (transport, options, life) => this.#opener.open(transport, options, life)
    })
  }

  // ===================================================================================================================
  // The members of `SessionHost`
  // ===================================================================================================================

  readonly open: SessionHostShape["open"] = (transport, options) =>
    Effect.suspend(() => {
      const owners = options.onEpoch === undefined ? undefined : this.#owners
      const life = { openedAt: this.#now(), epoch: 1, isOwned: owners !== undefined }
      return this.#opener.open(
        transport,
        options,
        owners === undefined
          ? life
          : { ...life, claim: (id) => owners.claimNew(id), unclaim: (hosted) => owners.remove(hosted) }
      )
    })

  readonly find: SessionHostShape["find"] = (id) => this.#table.find(id)

  readonly belongs: SessionHostShape["belongs"] = (id, principal, client) =>
    this.#principals.has(
      {
        principal,
        get client() {
          return client?.()
        }
      },
      id
    )

  readonly locate: SessionHostShape["locate"] = (id, principal, client) => {
    if (this.#table.find(id) !== undefined) return here
    if (this.#owners === undefined) return unowned
    const owners = this.#owners
    return Effect.suspend(() => owners.locate(id, { principal, client: client?.() }))
  }

  readonly ready: SessionHostShape["ready"] = ({ id }) => {
    const hosted = this.#table.find(id)
    const owners = hosted?.isOwned === true ? this.#owners : undefined
    return owners === undefined || owners.isAlive
      ? Exit.succeed(hosted !== undefined)
      : Effect.map(owners.awaitLease, () => hosted?.phase === "Live")
  }

  readonly restore: SessionHostShape["restore"] = (id, transport, options) =>
    Effect.suspend(() => {
      if (this.#restorer !== undefined) return this.#restorer.restore(id, transport, options)
      const hosted = this.#table.find(id)
      return Effect.succeed(hosted === undefined ? Restorer.notFound : Restorer.present(hosted, options.principal))
    })

  readonly remember: SessionHostShape["remember"] = ({ id }, handshakeMessages) =>
    Effect.suspend(() => {
      const hosted = this.#table.find(id)
      if (this.#restorer === undefined || hosted === undefined) return Effect.void
      return Effect.flatMap(
        this.#restorer.save(hosted, handshakeMessages),
        (saved) => saved || !hosted.isOwned ? Effect.void : this.#endUnstored(hosted)
      )
    })

  readonly closePrincipal: SessionHostShape["closePrincipal"] = (id) => this.ends.end(id)

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
    const hasLease = this.#owners?.isAlive !== false
    return {
      accepting: full === undefined && hasLease,
      ready: !this.#draining && hasLease,
      draining: this.#draining,
      sessions: this.#slots.taken,
      handshaking: this.#slots.handshaking,
      limit: this.#limits.max,
      retryAfterMillis: full?.retryAfterMillis
    }
  })

  readonly onDrain: SessionHostShape["onDrain"] = (drain) =>
    Effect.asVoid(Effect.acquireRelease(
      Effect.sync(() => this.#drains.add(drain)),
      () => Effect.sync(() => this.#drains.delete(drain))
    ))

  readonly drain: SessionHostShape["drain"] = Effect.suspend(() => {
    this.#draining = true
    return Effect.andThen(
      this.#store === undefined ? Effect.void : this.#store.flush(),
      Effect.suspend(() => {
        this.#closer.unloadAll()
        const others = Effect.forEach(
          this.#drains,
          (drain) => this.#runDrain(drain),
          { concurrency: "unbounded", discard: true }
        )
        return Effect.all([this.#table.awaitEmpty(), this.stateless.drain, others], { concurrency: 3, discard: true })
      })
    )
  })

  /** Ends what a principal has at this host. */
  #endPrincipal(id: string): Effect.Effect<void> {
    return Effect.suspend(() => {
      this.stateless.endStreamsOf(id)
      return Effect.forEach(
        this.#table.live().filter(({ principal }) => principal?.id === id),
        (hosted) => hosted.close(CloseReason.requested),
        { concurrency: "unbounded", discard: true }
      )
    })
  }

  /**
   * Runs what `onDrain` has added. A defect of one drain affects neither the others nor the sessions. One that takes
   * longer than `gracefulTimeout` continues alone if it cannot be interrupted.
   */
  #runDrain(drain: Effect.Effect<void>): Effect.Effect<void> {
    return Effect.catchCause(
      ForeignCall.within("SessionHost.onDrain", this.#gracefulMillis, () => drain),
      (cause) =>
        Cause.squash(cause) instanceof ForeignCall.TimedOut
          ? Effect.void
          : Effect.logError("an effect that SessionHost.onDrain has added failed", cause)
    )
  }

  // ===================================================================================================================
  // Facts
  // ===================================================================================================================

  /** Returns the handlers of the sessions. With a store, the host saves what a client has set and subscribed to. */
  #withFacts(
    handlers: Handlers.Handlers<"client", unknown>,
    { capabilities }: Pick<Options, "capabilities">
  ): Handlers.Handlers<"client", unknown> {
    if (this.#store === undefined) return handlers
    const setsLevel = Handlers.serverCapabilities(handlers, capabilities).logging !== undefined
    return SessionFacts.observing(handlers, setsLevel, (id, change) =>
      Effect.suspend(() => {
        const hosted = this.#table.find(id)
        if (hosted === undefined || this.#restorer === undefined) return Effect.void
        hosted.facts ??= new SessionFacts.SessionFacts()
        const outcome = change(hosted.facts)
        if (outcome === "Full") return this.#warnOfFull(hosted.facts)
        // One that is not stored yet is stored with its facts.
        return (outcome === "Unchanged" && !hosted.facts.isUnsaved) || hosted.stored !== "Yes"
          ? Effect.void
          : this.#restorer.saveFacts(hosted, hosted.facts)
      }))
  }

  /** Sends an update of each resource that a client is subscribed to. After a failure, all are sent again later. */
  #sendUpdates(hosted: HostedSession): Effect.Effect<void> {
    return Effect.forEach(
      hosted.facts?.stored.subscriptions ?? [],
      (uri) => hosted.session.resourceUpdated(uri),
      { discard: true }
    ).pipe(Effect.catchCause(() =>
      Effect.sync(() => {
        hosted.missesUpdates = true
      })
    ))
  }

  #warnOfFull(facts: SessionFacts.SessionFacts): Effect.Effect<void> {
    if (facts.hasWarned) return Effect.void
    facts.hasWarned = true
    return Effect.logWarning("a session has too many subscriptions: the later ones are lost if it is restored")
  }

  /** Ends a session that would be lost with its process. */
  #endUnstored(hosted: HostedSession): Effect.Effect<never, SessionStoreError> {
    const problem = "the session could not be stored"
    return Effect.andThen(
      hosted.close({ _tag: "HandshakeFailed", problem }),
      Effect.fail(new SessionStoreError({ cause: new Error(problem) }))
    )
  }

  // ===================================================================================================================
  // Owners
  // ===================================================================================================================

  /** Closes the copy of a session that this process has lost. */
  lost(id: string, epoch: number): void {
    const hosted = this.#table.all.get(id)
    if (hosted?.isOwned === true && hosted.epoch === epoch) this.#closer.supersede(hosted)
  }

  // ===================================================================================================================
  // Shutdown
  // ===================================================================================================================

  /** Drains the host, and stops everything that it runs. */
  shutDown(): Effect.Effect<void> {
    return this.drain.pipe(
      Effect.andThen(this.#store === undefined ? Effect.void : this.#store.stop()),
      Effect.andThen(this.#restorer === undefined ? Effect.void : this.#restorer.stop()),
      Effect.andThen(this.ends.stop()),
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

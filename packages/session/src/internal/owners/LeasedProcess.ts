/** One process with its lease: the service `SessionOwners` over any store. */

import * as Cause from "effect/Cause"
import * as Clock from "effect/Clock"
import type * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Latch from "effect/Latch"
import type * as Scope from "effect/Scope"
import * as Metrics from "../../Metrics.ts"
import * as LeastRecentlyUsed from "../collections/LeastRecentlyUsed.ts"
import { RateLimit } from "../engine/RateLimit.ts"
import * as SessionId from "../engine/SessionId.ts"
import * as StoreCall from "../engine/StoreCall.ts"
import { monotonicMillis } from "../monotonicMillis.ts"
import {
  type ClaimedSession,
  defaultLeaseTime,
  type Location,
  type Options,
  type OwnerStore,
  type ProcessLease,
  SessionOwnersError,
  type SessionOwnersShape as Service
} from "./SessionOwnersShape.ts"

/** The deadline of a call that is not about the lease. */
const deadlineMillis = 5000

/** The time for which the place of a session of another process is remembered. */
const placeMillis = 1000

/** The number of places that are remembered. */
const maxPlaces = 10_000

/** The number of sessions that are remembered whose claims or ends have failed. */
const maxUnsettled = 10_000

/** The number of sessions in one question to the store. */
const batchSize = 500

/** The number of renewals in the time of one lease. */
const renewals = 4

/** The time until which a lease stands, of both clocks. A suspended machine stops the monotonic one. */
interface LeaseEnd {
  readonly steady: number
  readonly wall: number
}

const over: LeaseEnd = { steady: 0, wall: 0 }

/** An operation of one session that has failed. The store may have executed it, or may do so later. */
type Unsettled = Ending | {
  readonly operation: "claim"
  /** The epoch that the claim would give. */
  readonly epoch: number
}

/** The end of an epoch in which this process owned a session. */
interface Ending {
  readonly operation: "release" | "remove"
  readonly epoch: number
}

/** The place of a session of another process. */
interface Place {
  readonly location: Location
  readonly until: number
}

/**
 * One process. The store's lease begins when the store receives a renewal, and the lease here when it is sent. So the
 * lease here is over first, if both clocks run equally fast.
 */
export class LeasedProcess implements Service {
  readonly process: string = SessionId.make()
  readonly #store: OwnerStore
  readonly #clock: Clock.Clock
  /** The services of the program, for the metrics. */
  readonly #context: Context.Context<never>
  readonly #millis: number
  readonly #places = LeastRecentlyUsed.make<Place>({ size: maxPlaces, weight: Number.POSITIVE_INFINITY })
  readonly #listeners = new Set<(session: string, epoch: number) => void>()
  readonly #warnings = new RateLimit(1)
  /** The sessions that this process has claimed. */
  readonly #claimed = new Map<string, number>()
  /** The sessions with claims that have no answer yet, and the numbers of these. */
  readonly #claiming = new Map<string, number>()
  /** The operations that have failed. Without them, the store would keep an owner for as long as the process lives. */
  readonly #unsettled = LeastRecentlyUsed.make<Unsettled>({ size: maxUnsettled, weight: Number.POSITIVE_INFINITY })
  readonly #hasUnsettled = Latch.makeUnsafe(false)
  readonly #announced = Deferred.makeUnsafe<string>()
  #address: string | undefined
  /** The end of the last lease that was renewed. */
  #renewedUntil = over
  /** The end of the last lease that was renewed while no session could be lost unnoticed. */
  #until = over
  /** Completed when the lease is renewed. */
  #renewed: Deferred.Deferred<void> = Deferred.makeUnsafe()
  /** Whether sessions may have been lost since they were last confirmed. */
  #isDoubtful = false
  /** The sessions that remain to be confirmed; `undefined` if none was confirmed yet. */
  #unconfirmed: Array<ClaimedSession> | undefined
  /** Whether the lease was renewed, and was not found to be over since. */
  #isHeld = false
  /** The number of times that the lease was found broken, or may have been. */
  #breaks = 0
  /** Whether the last renewal has failed: an outage is logged once. */
  #isAway = false

  constructor(
    store: OwnerStore,
    { clock, context }: { readonly clock: Clock.Clock; readonly context: Context.Context<never> },
    millis: number,
    address: string | undefined
  ) {
    this.#store = store
    this.#clock = clock
    this.#context = context
    this.#millis = millis
    if (address !== undefined) this.#begin(address)
  }

  /** Makes the service, and renews its lease until the scope closes. */
  static readonly make = Effect.fnUntraced(function*(
    store: OwnerStore,
    { address, leaseTime = defaultLeaseTime }: Options
  ): Effect.fn.Return<Service, never, Scope.Scope> {
    const environment = { clock: yield* Clock.Clock, context: yield* Effect.context<never>() }
    const made = new LeasedProcess(store, environment, Duration.toMillis(leaseTime), address)
    yield* Effect.addFinalizer(() => made.#retire())
    yield* Effect.forkScoped(made.#renewals())
    yield* Effect.forkScoped(made.#settlements())
    return made
  })

  readonly isAlive = (): boolean => this.#stands(this.#until)

  readonly awaitLease: Effect.Effect<void> = Effect.suspend(() => this.#awaitRenewal())

  readonly address = (): string | undefined => this.#address

  readonly announce: Service["announce"] = (address) => Effect.sync(() => this.#begin(address))

  readonly locate: Service["locate"] = (session) =>
    Effect.suspend(() => {
      const place = this.#places.get(session)
      if (place !== undefined && place.until > monotonicMillis(this.#clock)) return Effect.succeed(place.location)
      return Effect.tap(this.#call("locate", deadlineMillis, () => this.#store.locate(session)), (location) =>
        Effect.sync(() => {
          if (location._tag !== "Owned" || location.process === this.process) {
            return this.#places.delete(session)
          }
          this.#places.set(session, { location, until: monotonicMillis(this.#clock) + placeMillis }, 0)
        }))
    })

  readonly invalidate: Service["invalidate"] = (session) => this.#places.delete(session)

  readonly claim: Service["claim"] = (session, epoch) =>
    // An interruption between the answer and its consequences would leave an owner that does not know of it.
    Effect.uninterruptibleMask((restore) => {
      const lease = this.#lease()
      if (lease === undefined || !this.isAlive()) return Effect.succeed(undefined)
      const breaks = this.#breaks
      this.#claiming.set(session, (this.#claiming.get(session) ?? 0) + 1)
      const claiming = Effect.map(
        Effect.onError(
          restore(this.#call("claim", deadlineMillis, () => this.#store.claim(session, epoch, lease))),
          () => Effect.sync(() => this.#unsettle(session, { operation: "claim", epoch: epoch + 1 }))
        ),
        (claimed) => {
          this.#places.delete(session)
          if (claimed === undefined) return undefined
          // The answer was on its way while the lease broke: another process may have claimed the session since.
          if (breaks !== this.#breaks) return this.#unsettle(session, { operation: "release", epoch: claimed })
          this.#own(session, claimed)
          if (epoch > 0) Metrics.serverSessionsTakenOver.updateUnsafe(1, this.#context)
          return claimed
        }
      )
      return Effect.ensuring(claiming, Effect.sync(() => this.#answered(session)))
    })

  readonly owns: Service["owns"] = (session, epoch) => this.#claimed.get(session) === epoch

  readonly release: Service["release"] = (session, epoch) =>
    this.#endOwnership(session, { operation: "release", epoch })

  readonly remove: Service["remove"] = (session, epoch) => this.#endOwnership(session, { operation: "remove", epoch })

  readonly check: Service["check"] = Effect.suspend(() => {
    const sessions = Array.from(this.#claimed, ([session, epoch]) => ({ session, epoch }))
    const batches = Array.from(
      { length: Math.ceil(sessions.length / batchSize) },
      (_, index) => sessions.slice(index * batchSize, (index + 1) * batchSize)
    )
    return Effect.catchCause(
      Effect.forEach(batches, (batch) => this.#askFor(batch, deadlineMillis), { discard: true }),
      (cause) => this.#warn("check its sessions", cause)
    )
  })

  readonly onLost: Service["onLost"] = (listener) =>
    Effect.asVoid(Effect.acquireRelease(
      Effect.sync(() => this.#listeners.add(listener)),
      () => Effect.sync(() => this.#listeners.delete(listener))
    ))

  #stands({ steady, wall }: LeaseEnd): boolean {
    return monotonicMillis(this.#clock) < steady && this.#clock.currentTimeMillisUnsafe() < wall
  }

  #begin(address: string): void {
    if (this.#address !== undefined) return
    this.#address = address
    Deferred.doneUnsafe(this.#announced, Exit.succeed(address))
  }

  /** The lease may be over again when the fiber of a caller continues. */
  #awaitRenewal(): Effect.Effect<void> {
    return this.isAlive()
      ? Effect.void
      : Effect.andThen(Deferred.await(this.#renewed), Effect.suspend(() => this.#awaitRenewal()))
  }

  #answered(session: string): void {
    const others = (this.#claiming.get(session) ?? 1) - 1
    if (others === 0) this.#claiming.delete(session)
    else this.#claiming.set(session, others)
  }

  #endOwnership(session: string, ending: Ending): Effect.Effect<void> {
    const ended = Effect.uninterruptibleMask((restore) => {
      this.#disown(session, ending.epoch)
      return Effect.onError(
        restore(this.#end(session, ending)),
        () => Effect.sync(() => this.#unsettle(session, ending))
      )
    })
    return Effect.catchCause(ended, (cause) => this.#warn(ending.operation, cause))
  }

  #end(session: string, { epoch, operation }: Ending): Effect.Effect<void, SessionOwnersError> {
    return this.#call(operation, deadlineMillis, () => this.#store[operation](session, epoch))
  }

  /** The first failure of an epoch stays: a claim that comes late has to be found also after a release. */
  #unsettle(session: string, unsettled: Unsettled): undefined {
    this.#places.delete(session)
    const epoch = this.#unsettled.peek(session)?.epoch ?? 0
    if (epoch < unsettled.epoch) this.#unsettled.set(session, unsettled, 0)
    Latch.openUnsafe(this.#hasUnsettled)
  }

  /** Frees for ever what this process must not own, while the lease stands. */
  readonly #settlements = Effect.fnUntraced(function*(this: LeasedProcess): Effect.fn.Return<never> {
    for (;;) {
      yield* Latch.await(this.#hasUnsettled)
      for (const session of this.#unsettled.names()) {
        yield* this.awaitLease
        const unsettled = this.#unsettled.peek(session)
        if (unsettled === undefined) continue
        // One session for which the store always fails does not keep the others.
        yield* Effect.catchCause(
          this.#settle(session, unsettled),
          (cause) => this.#warn(`settle an earlier ${unsettled.operation}`, cause)
        )
      }
      if (this.#unsettled.size() === 0) Latch.closeUnsafe(this.#hasUnsettled)
      else yield* Effect.sleep(this.#millis)
    }
  })

  /**
   * Repeats the end of an epoch, or frees a session that a claim has left, unless this process has claimed it again. A
   * claim that the store has not executed yet is executed here first. The late one finds a later epoch then, and is
   * rejected.
   */
  readonly #settle = Effect.fnUntraced(function*(
    this: LeasedProcess,
    session: string,
    unsettled: Unsettled
  ): Effect.fn.Return<void, SessionOwnersError> {
    const lease = this.#lease()
    if (lease === undefined) return
    const { epoch, operation } = unsettled
    if (operation !== "claim") yield* this.#end(session, { operation, epoch })
    else {
      yield* this.#call("claim", deadlineMillis, () => this.#store.claim(session, epoch - 1, lease))
      const location = yield* this.#call("locate", deadlineMillis, () => this.#store.locate(session))
      // The store rejects the claim while another owner lives, or the lease of this process is too young, and may
      // accept the late one later. It does not if the session has ended.
      if (location._tag === "Unknown" ? epoch === 1 : location.epoch < epoch) return
      if (location._tag === "Owned" && location.process === this.process && this.#claimed.get(session) !== epoch) {
        // The store may have executed another claim of this process, whose answer is on its way.
        if (this.#claiming.has(session)) return
        yield* this.#end(session, { operation: "release", epoch })
      }
    }
    if (this.#unsettled.peek(session) === unsettled) this.#unsettled.delete(session)
  })

  /** Returns the lease, if the address of this process is known. */
  #lease(): ProcessLease | undefined {
    const address = this.#address
    return address === undefined ? undefined : { process: this.process, address, millis: this.#millis }
  }

  /** Renews the lease for ever, as soon as the address is known. */
  #renewals(): Effect.Effect<never> {
    const pause = Effect.sleep(this.#millis / renewals)
    return Effect.flatMap(
      Deferred.await(this.#announced),
      (address) => {
        const renew = this.#renew({ process: this.process, address, millis: this.#millis })
        return Effect.forever(Effect.flatMap(renew, (isDue) => isDue ? Effect.void : pause))
      }
    )
  }

  /** Renews the lease once. Returns whether the next renewal is due, because the sessions took long to confirm. */
  #renew(lease: ProcessLease): Effect.Effect<boolean> {
    return Effect.suspend(() => {
      const sentAt = monotonicMillis(this.#clock)
      const until = { steady: sentAt + this.#millis, wall: this.#clock.currentTimeMillisUnsafe() + this.#millis }
      return this.#call("renew", this.#millis / 2, () => this.#store.renew(lease)).pipe(
        Effect.flatMap((stood) => {
          // What was confirmed is only valid while no other process could claim a session.
          if (!stood || !this.#stands(this.#renewedUntil)) this.#doubt(true)
          this.#renewedUntil = until
          return this.#isDoubtful ? this.#confirm(sentAt + this.#millis / renewals) : Effect.succeed(true)
        }),
        Effect.map((isConfirmed) => {
          this.#isAway = false
          if (!isConfirmed) return true
          this.#isDoubtful = false
          this.#isHeld = true
          this.#until = until
          const renewed = this.#renewed
          this.#renewed = Deferred.makeUnsafe()
          Deferred.doneUnsafe(renewed, Exit.void)
          return false
        }),
        Effect.catchCause((cause) => {
          // The store may execute this renewal later, after the lease was over. Without this, the next renewal would
          // find that the lease stood, and this process would serve what another one owns; found by the nemesis.
          this.#doubt(!this.isAlive())
          if (this.#isAway) return Effect.succeed(false)
          this.#isAway = true
          return Effect.as(
            Effect.logWarning("the lease of this process was not renewed; the next attempts are not logged", cause),
            false
          )
        })
      )
    })
  }

  /** Records that sessions may have been lost. `isOver`: the lease was over. */
  #doubt(isOver: boolean): void {
    this.#isDoubtful = true
    this.#unconfirmed = undefined
    this.#breaks++
    if (!isOver || !this.#isHeld) return
    this.#isHeld = false
    Metrics.serverLeasesLost.updateUnsafe(1, this.#context)
  }

  /**
   * Asks which of the claimed sessions this process has lost, and reports them, until the next renewal is due. Returns
   * whether all are confirmed. Without the renewals in between, the lease of a process with many sessions would be over
   * before the last answer, and other processes would take the sessions.
   */
  readonly #confirm = Effect.fnUntraced(function*(
    this: LeasedProcess,
    dueAt: number
  ): Effect.fn.Return<boolean, SessionOwnersError> {
    const sessions = this.#unconfirmed ??= Array.from(this.#claimed, ([session, epoch]) => ({ session, epoch }))
    while (sessions.length > 0) {
      const batch = sessions.slice(-batchSize)
      yield* this.#askFor(batch, this.#millis / 2)
      sessions.length -= batch.length
      if (monotonicMillis(this.#clock) >= dueAt) break
    }
    return sessions.length === 0 && this.#stands(this.#renewedUntil)
  })

  /** Asks which of these sessions this process has lost, and reports them. */
  #askFor(batch: ReadonlyArray<ClaimedSession>, millis: number): Effect.Effect<void, SessionOwnersError> {
    return Effect.map(this.#call("lost", millis, () => this.#store.lost(this.process, batch)), (ids) => {
      const lost = new Set(ids)
      for (const { epoch, session } of batch) if (lost.has(session)) this.#lose(session, epoch)
    })
  }

  #lose(session: string, epoch: number): void {
    if (this.#disown(session, epoch)) { for (const listener of this.#listeners) listener(session, epoch) }
  }

  #own(session: string, epoch: number): void {
    if (!this.#claimed.has(session)) Metrics.serverSessionsOwned.modifyUnsafe(1, this.#context)
    this.#claimed.set(session, epoch)
  }

  /** Returns whether this process had claimed the session in this epoch. */
  #disown(session: string, epoch: number): boolean {
    if (this.#claimed.get(session) !== epoch) return false
    Metrics.serverSessionsOwned.modifyUnsafe(-1, this.#context)
    return this.#claimed.delete(session)
  }

  #retire(): Effect.Effect<void> {
    return Effect.suspend(() => {
      this.#until = over
      for (const [session, epoch] of this.#claimed) this.#disown(session, epoch)
      return this.#address === undefined ? Effect.void : Effect.catchCause(
        this.#call("retire", deadlineMillis, () => this.#store.retire(this.process)),
        (cause) => this.#warn("retire", cause)
      )
    })
  }

  /** Calls the store. Errors, exceptions, defects and delays fail alike. */
  #call<A>(
    name: keyof OwnerStore,
    millis: number,
    call: () => Effect.Effect<A, SessionOwnersError>
  ): Effect.Effect<A, SessionOwnersError> {
    return Effect.catchCause(StoreCall.within("OwnerStore", name, millis, call), (cause) => {
      const failure = Cause.squash(cause)
      return Effect.fail(
        failure instanceof SessionOwnersError ? failure : new SessionOwnersError({ cause: failure })
      )
    })
  }

  #warn(
    failed: Ending["operation"] | "check its sessions" | "retire" | `settle an earlier ${Unsettled["operation"]}`,
    cause: Cause.Cause<unknown>
  ): Effect.Effect<void> {
    return this.#warnings.take(monotonicMillis(this.#clock))
      ? Effect.logWarning(`the store of session owners failed to ${failed}`, cause)
      : Effect.void
  }
}

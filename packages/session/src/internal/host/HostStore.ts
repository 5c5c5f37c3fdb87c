/** The `SessionStore` as a host calls it: with deadlines, limits, retries, warnings and events. */

import * as Cause from "effect/Cause"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import type { SessionEvent } from "../../SessionEvent.ts"
import { type SessionStore, SessionStoreError, type StoredSession } from "../../SessionStore.ts"
import { SupersededError } from "../../SupersededError.ts"
import { type Client, nameOf } from "../ClientName.ts"
import * as LeastRecentlyUsed from "../collections/LeastRecentlyUsed.ts"
import type * as ForeignCall from "../engine/ForeignCall.ts"
import { RateLimit } from "../engine/RateLimit.ts"
import * as StoreCall from "../engine/StoreCall.ts"
import type { FairTurns } from "./FairTurns.ts"
import type { HostedSession } from "./HostedSession.ts"
import type { HostOwners } from "./HostOwners.ts"

/** The deadline of each call. */
const deadlineMillis = 5000

/** The number of concurrent `touch` calls, and of concurrent retries of `remove`. */
const concurrency = 16

/**
 * The number of concurrent `load` calls and looks for owners together. Clients take turns. Each request with an unknown
 * id costs one: a flood of them must leave the store to other calls, such as those that renew the lease of the process.
 * It is less than the connections of a pool, which are ten mostly: with 16 loads, a flood took all of them, and
 * renewals timed out.
 */
export const concurrentLoads = 4

/** The time between two rounds of `touch` calls. The store may learn of a use this much later. */
export const touchIntervalMillis = 60_000

/** The limit of closed sessions that may still be in the store. The one that closed first makes room. */
const maxUndeleted = 10_000

/** The time between two attempts to remove them. */
const retryMillis = 30_000

/**
 * The limit of calls that cannot be interrupted and still run after their deadline, or after their caller was
 * interrupted. At this limit the host does not call the store until one of them ends.
 */
const maxAbandonedCalls = 256

/** The operations whose failure does not fail a request. */
export type Operation = Extract<SessionEvent, { readonly _tag: "SessionStoreFailed" }>["operation"]

/** The parts of a host that its store needs. */
export interface Options {
  readonly sessions: ReadonlyMap<string, HostedSession>
  /** The time of a clock that never jumps, in milliseconds. */
  readonly now: () => number
  fork<A, E>(effect: Effect.Effect<A, E>): Fiber.Fiber<A, E>
  /** Called when an operation on a session has failed. */
  failed(hosted: HostedSession, operation: Operation, cause: Cause.Cause<unknown>): void
  /** Called when the store has rejected an operation, because another process has the session now. */
  superseded(hosted: HostedSession): void
  /** The owners of the sessions, if this process claims them. */
  readonly owners: Pick<HostOwners, "remove"> | undefined
  /** The turns of the clients at the store. */
  readonly turns: FairTurns
}

/** A closed session that may still be in the store. */
type Undeleted = Pick<HostedSession, "epoch" | "isOwned">

/**
 * The store of a host. Each call has a deadline, and errors, exceptions and defects of the store are handled alike. A
 * failure affects only its operation: a session that cannot be saved continues, but cannot be restored.
 */
export class HostStore {
  readonly #store: SessionStore["Service"]
  readonly #options: Options
  readonly #warnings = new RateLimit(1)
  /**
   * The ended sessions that may still be in the store. The host does not restore them, and removes them again later.
   * It owns them until then, so that no other host restores them.
   */
  readonly #undeleted = LeastRecentlyUsed.make<Undeleted>({ size: maxUndeleted, weight: Number.POSITIVE_INFINITY })
  readonly #loads: FairTurns
  #warningsLeftOut = 0
  #abandonedCalls = 0
  #touchAt = Number.NEGATIVE_INFINITY
  #touching: Fiber.Fiber<void> | undefined
  #removing: Fiber.Fiber<void> | undefined

  constructor(store: SessionStore["Service"], options: Options) {
    this.#store = store
    this.#options = options
    this.#loads = options.turns
  }

  /** Loads a session for a client; `undefined` if the store does not have it, or if it was to be removed. */
  load(id: string, client: Client): Effect.Effect<StoredSession | undefined, SessionStoreError> {
    return Effect.suspend(() => {
      if (this.#undeleted.get(id) !== undefined) return Effect.undefined
      return Effect.catchCause(this.#load(id, client), (cause) => {
        this.#warn("load", cause)
        const failure = Cause.squash(cause)
        return Effect.fail(failure instanceof SessionStoreError ? failure : new SessionStoreError({ cause: failure }))
      })
    })
  }

  /** Loads a session in the turn of its client, for which it waits up to the deadline. */
  #load(
    id: string,
    client: Client
  ): Effect.Effect<StoredSession | undefined, SessionStoreError | SupersededError | ForeignCall.TimedOut> {
    const call = this.#call("load", () => this.#store.load(id))
    const problem = `SessionStore.load: ${concurrentLoads} calls did not end within ${deadlineMillis} ms`
    const inTurn = Effect.timeoutOrElse(this.#loads.run(nameOf(client), call), {
      duration: Duration.millis(deadlineMillis),
      orElse: () => Effect.fail(new SessionStoreError({ cause: new Error(problem) }))
    })
    return this.#loads.isFree ? this.#loads.run("", call) : inTurn
  }

  /** Saves a session, and returns whether the store has it now. A failure is reported, and does not fail. */
  save(hosted: HostedSession, handshakeMessages: StoredSession["handshakeMessages"]): Effect.Effect<boolean> {
    return Effect.suspend(() => {
      const { epoch, id, lastUsedAt: usedAt, openedAt, principal } = hosted
      const wasStored = hosted.stored === "Yes"
      if (!wasStored) hosted.stored = "Perhaps"
      this.#undeleted.delete(id)
      return Effect.map(
        this.#attempt(
          hosted,
          "save",
          () => {
            const session = {
              id,
              principal: principal?.id,
              handshakeMessages,
              openedAt,
              usedAt,
              epoch,
              ...hosted.facts?.stored
            }
            return wasStored ? this.#store.save(session) : this.#store.create(session)
          }
        ),
        (outcome) => {
          if (outcome === "Done") hosted.storedUsedAt = usedAt
          if (outcome === "Done" || wasStored) hosted.stored = "Yes"
          return outcome === "Done"
        }
      )
    })
  }

  /** Removes a session that has closed, if the store may have it. */
  remove(hosted: HostedSession): Effect.Effect<void> {
    return Effect.suspend(() => {
      const { epoch, id, stored } = hosted
      if (stored === "No") return this.#disown(id, hosted)
      return Effect.flatMap(this.#attempt(hosted, "remove", () => this.#store.remove(id, epoch)), (outcome) => {
        if (outcome === "Superseded") return Effect.void
        // A `create` that did not succeed may still take effect after this `remove`.
        if (outcome === "Failed" || stored === "Perhaps") this.#removeLater(id, hosted)
        return outcome === "Failed" ? Effect.void : this.#disown(id, hosted)
      })
    })
  }

  /** Removes a stored session that has expired and is not open here. */
  removeExpired(id: string, expired: Undeleted): Effect.Effect<void> {
    return this.#call("remove", () => this.#store.remove(id, expired.epoch)).pipe(
      Effect.andThen(this.#disown(id, expired)),
      Effect.catchCause((cause) =>
        Effect.sync(() => {
          // Another process has the session.
          if (Cause.squash(cause) instanceof SupersededError) return
          this.#warn("remove", cause)
          this.#removeLater(id, expired)
        })
      )
    )
  }

  /** Deletes the owner of a session that is not in the store any more. Before, another process could restore it. */
  #disown(id: string, { epoch, isOwned }: Undeleted): Effect.Effect<void> {
    const { owners } = this.#options
    return isOwned && owners !== undefined ? owners.remove({ id, epoch }) : Effect.void
  }

  /** Touches the sessions that were used or are in use, if it is time for that. Returns the time of the next round. */
  touchWhenDue(time: number): number {
    if (time >= this.#touchAt && (this.#touching === undefined || this.#touching.pollUnsafe() !== undefined)) {
      this.#touchAt = time + touchIntervalMillis
      this.#touching = this.#options.fork(this.#touchUsed())
    }
    return this.#touchAt
  }

  /** Touches the sessions that were used or are in use, after the round that is running. */
  flush(): Effect.Effect<void> {
    const running = Effect.suspend(() => this.#touching === undefined ? Effect.void : Fiber.await(this.#touching))
    return Effect.asVoid(Effect.timeoutOption(Effect.andThen(running, this.#touchUsed()), deadlineMillis))
  }

  /** Interrupts the touching and the retries. */
  stop(): Effect.Effect<void> {
    return Effect.suspend(() =>
      Fiber.interruptAll([this.#touching, this.#removing].filter((fiber) => fiber !== undefined))
    )
  }

  #call<A>(
    name: keyof SessionStore["Service"],
    call: () => Effect.Effect<A, SessionStoreError | SupersededError>
  ): Effect.Effect<A, SessionStoreError | SupersededError | ForeignCall.TimedOut> {
    return Effect.suspend(() => {
      if (this.#abandonedCalls >= maxAbandonedCalls) {
        return Effect.fail(
          new SessionStoreError({
            cause: new Error(`SessionStore.${name}: not called, because ${maxAbandonedCalls} calls have not ended`)
          })
        )
      }
      let state: "running" | "abandoned" | "ended" = "running"
      const ended = Effect.sync(() => {
        if (state === "abandoned") this.#abandonedCalls--
        state = "ended"
      })
      const abandon = Effect.sync(() => {
        if (state !== "running") return
        state = "abandoned"
        this.#abandonedCalls++
      })
      return Effect.ensuring(
        StoreCall.within("SessionStore", name, deadlineMillis, () => Effect.ensuring(Effect.suspend(call), ended)),
        abandon
      )
    })
  }

  /** Runs an operation, and returns how it ended. Reports a failure. */
  #attempt(
    hosted: HostedSession,
    operation: Operation,
    call: () => Effect.Effect<void, SessionStoreError | SupersededError>
  ): Effect.Effect<"Done" | "Failed" | "Superseded"> {
    return Effect.matchCause(this.#call(operation, call), {
      onSuccess: () => "Done",
      onFailure: (cause) => {
        if (Cause.squash(cause) instanceof SupersededError) {
          this.#options.superseded(hosted)
          return "Superseded"
        }
        this.#options.failed(hosted, operation, cause)
        this.#warn(operation, cause)
        return "Failed"
      }
    })
  }

  #warn(operation: Operation | "load", cause: Cause.Cause<unknown>): void {
    if (!this.#warnings.take(this.#options.now())) {
      this.#warningsLeftOut++
      return
    }
    const leftOut = this.#warningsLeftOut
    this.#warningsLeftOut = 0
    const more = leftOut === 0 ? "" : ` (${leftOut} more warnings were left out)`
    this.#options.fork(Effect.logWarning(`the session store failed to ${operation} a session${more}`, cause))
  }

  /** Touches the stored sessions that are in use, or were used since the store last learned of their use. */
  #touchUsed(): Effect.Effect<void> {
    return Effect.suspend(() =>
      Effect.forEach(
        Array.from(this.#options.sessions.values()).filter((hosted) =>
          hosted.phase === "Live" && hosted.stored === "Yes" && hosted.lastUsedAt > hosted.storedUsedAt
        ),
        (hosted) => {
          const usedAt = hosted.lastUsedAt
          return Effect.map(
            this.#attempt(hosted, "touch", () => this.#store.touch(hosted.id, hosted.epoch, usedAt)),
            (outcome) => {
              // The session may have been saved meanwhile, with a later use.
              if (outcome === "Done") hosted.storedUsedAt = Math.max(hosted.storedUsedAt, usedAt)
            }
          )
        },
        { concurrency, discard: true }
      )
    )
  }

  #removeLater(id: string, { epoch, isOwned }: Undeleted): void {
    this.#undeleted.set(id, { epoch, isOwned }, 0)
    if (this.#removing !== undefined) return
    const removing = this.#options.fork(Effect.whileLoop({
      while: () => this.#undeleted.size() > 0,
      body: () => Effect.andThen(Effect.sleep(Duration.millis(retryMillis)), this.#removeAgain()),
      step: () => {}
    }))
    this.#removing = removing
    removing.addObserver(() => {
      this.#removing = undefined
    })
  }

  /** Removes the closed sessions that may still be in the store, until the store fails. */
  #removeAgain(): Effect.Effect<void> {
    return Effect.suspend(() =>
      Effect.forEach(
        this.#undeleted.names(),
        (id) => {
          const undeleted = this.#undeleted.get(id)
          if (undeleted === undefined) return Effect.void
          return this.#call("remove", () => this.#store.remove(id, undeleted.epoch)).pipe(
            Effect.andThen(this.#disown(id, undeleted)),
            // Another process has the session.
            Effect.catchTag("SupersededError", () => Effect.void),
            Effect.map(() => {
              this.#undeleted.delete(id)
            })
          )
        },
        { concurrency, discard: true }
      )
    ).pipe(Effect.catchCause((cause) => Effect.sync(() => this.#warn("remove", cause))))
  }
}

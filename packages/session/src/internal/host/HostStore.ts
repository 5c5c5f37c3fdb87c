import * as Cause from "effect/Cause"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as ForeignCall from "../../ForeignCall.ts"
import type { SessionEvent } from "../../SessionEvent.ts"
import { type SessionStore, SessionStoreError, type StoredSession } from "../../SessionStore.ts"
import * as LeastRecentlyUsed from "../collections/LeastRecentlyUsed.ts"
import { RateLimit } from "../engine/RateLimit.ts"
import type { HostedSession } from "./HostedSession.ts"

/** The deadline of each call. */
const deadlineMillis = 5000

/** The number of sessions that the store is told of at a time. */
const concurrency = 16

/** The time between two tellings that sessions are in use. */
export const tellingMillis = 60_000

/** The sessions that have ended and may still be in the store. The one that ended first makes room. */
const undeletedSessions = 10_000

/** The time between two tries to remove them. */
const retryMillis = 30_000

/**
 * The calls that cannot be interrupted, and were given up: at the deadline, or by the callers. With so many of them the
 * store is not called any more.
 */
const givenUpCalls = 256

/** The operations that fail without failing a request. */
export type Operation = Extract<SessionEvent, { readonly _tag: "SessionStoreFailed" }>["operation"]

/** The needs of a host's store. */
export interface Options {
  readonly sessions: ReadonlyMap<string, HostedSession>
  readonly now: () => number
  fork<A, E>(effect: Effect.Effect<A, E>): Fiber.Fiber<A, E>
  /** An operation on a session has failed. */
  failed(hosted: HostedSession, operation: Operation, cause: Cause.Cause<unknown>): void
}

/**
 * A store as its host calls it: each call has a deadline, and its failures are failures, exceptions and defects alike.
 * A failure costs what the call was for: a session that cannot be saved lives on, but cannot be restored.
 */
export class HostStore {
  readonly #store: SessionStore["Service"]
  readonly #options: Options
  readonly #warnings = new RateLimit(1)
  /** Ended sessions that the store may still have: the host does not restore them, and tries to remove them again. */
  readonly #undeleted = LeastRecentlyUsed.make<true>({ size: undeletedSessions, weight: Number.POSITIVE_INFINITY })
  #warningsLeftOut = 0
  #givenUp = 0
  #tellAt = Number.NEGATIVE_INFINITY
  #telling: Fiber.Fiber<void> | undefined
  #removing: Fiber.Fiber<void> | undefined

  constructor(store: SessionStore["Service"], options: Options) {
    this.#store = store
    this.#options = options
  }

  load(id: string): Effect.Effect<StoredSession | undefined, SessionStoreError> {
    return Effect.suspend(() => {
      if (this.#undeleted.get(id) !== undefined) return Effect.undefined
      return Effect.catchCause(this.#call("load", () => this.#store.load(id)), (cause) => {
        this.#warn("load", cause)
        const failure = Cause.squash(cause)
        return Effect.fail(failure instanceof SessionStoreError ? failure : new SessionStoreError({ cause: failure }))
      })
    })
  }

  save(hosted: HostedSession, handshakeMessages: StoredSession["handshakeMessages"]): Effect.Effect<void> {
    return Effect.suspend(() => {
      const { id, openedAt, principal, usedAt } = hosted
      const again = hosted.stored === "Yes"
      hosted.toldAt = usedAt
      hosted.stored = "Perhaps"
      this.#undeleted.delete(id)
      return Effect.map(
        this.#told(
          hosted,
          "save",
          () => this.#store.save({ id, principal: principal?.id, handshakeMessages, openedAt, usedAt })
        ),
        (saved) => {
          if (saved || again) hosted.stored = "Yes"
        }
      )
    })
  }

  /** Removes a session that has ended, if the store has it. */
  remove(hosted: HostedSession): Effect.Effect<void> {
    return Effect.suspend(() => {
      const { id, stored } = hosted
      if (stored === "No") return Effect.void
      return Effect.map(this.#told(hosted, "remove", () => this.#store.remove(id)), (removed) => {
        // What was to be saved and did not say so may be saved later than it is removed.
        if (!removed || stored === "Perhaps") this.#removeLater(id)
      })
    })
  }

  /** Removes a session that is not here and has expired. */
  forget(id: string): Effect.Effect<void> {
    return Effect.catchCause(
      this.#call("remove", () => this.#store.remove(id)),
      (cause) => Effect.sync(() => this.#warn("remove", cause))
    )
  }

  /** Tells which sessions are in use, if it is time to. Returns when it will be again. */
  tellWhenDue(time: number): number {
    if (time >= this.#tellAt && (this.#telling === undefined || this.#telling.pollUnsafe() !== undefined)) {
      this.#tellAt = time + tellingMillis
      this.#telling = this.#options.fork(this.#tell())
    }
    return this.#tellAt
  }

  /** Tells it once more, after all else. */
  finish(): Effect.Effect<void> {
    const before = Effect.suspend(() => this.#telling === undefined ? Effect.void : Fiber.await(this.#telling))
    return Effect.asVoid(Effect.timeoutOption(Effect.andThen(before, this.#tell()), deadlineMillis))
  }

  /** Calls it no more, whatever was to be called. */
  abandon(): Effect.Effect<void> {
    return Effect.suspend(() =>
      Fiber.interruptAll([this.#telling, this.#removing].filter((fiber) => fiber !== undefined))
    )
  }

  #call<A>(
    name: keyof SessionStore["Service"],
    call: () => Effect.Effect<A, SessionStoreError>
  ): Effect.Effect<A, SessionStoreError | ForeignCall.TimedOut> {
    return Effect.suspend(() => {
      if (this.#givenUp >= givenUpCalls) {
        return Effect.fail(new SessionStoreError({ cause: new Error(`${givenUpCalls} calls have not ended`) }))
      }
      let state: "running" | "given up" | "ended" = "running"
      const ended = Effect.sync(() => {
        if (state === "given up") this.#givenUp--
        state = "ended"
      })
      const giveUp = Effect.sync(() => {
        if (state !== "running") return
        state = "given up"
        this.#givenUp++
      })
      return Effect.ensuring(
        ForeignCall.within(`SessionStore.${name}`, deadlineMillis, () => Effect.ensuring(Effect.suspend(call), ended)),
        giveUp
      )
    })
  }

  /** Says whether it went well. */
  #told(
    hosted: HostedSession,
    operation: Operation,
    call: () => Effect.Effect<void, SessionStoreError>
  ): Effect.Effect<boolean> {
    return Effect.matchCause(this.#call(operation, call), {
      onSuccess: () => true,
      onFailure: (cause) => {
        this.#options.failed(hosted, operation, cause)
        this.#warn(operation, cause)
        return false
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

  /** Tells which sessions have been used since it was told last. */
  #tell(): Effect.Effect<void> {
    return Effect.suspend(() =>
      Effect.forEach(
        Array.from(this.#options.sessions.values()).filter(({ phase, stored, toldAt, usedAt }) =>
          phase === "Live" && stored === "Yes" && usedAt > toldAt
        ),
        (hosted) => {
          hosted.toldAt = hosted.usedAt
          return this.#told(hosted, "touch", () => this.#store.touch(hosted.id, hosted.usedAt))
        },
        { concurrency, discard: true }
      )
    )
  }

  #removeLater(id: string): void {
    this.#undeleted.set(id, true, 0)
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

  /** Removes what is left, until the store fails again. */
  #removeAgain(): Effect.Effect<void> {
    return Effect.suspend(() =>
      Effect.forEach(
        this.#undeleted.names(),
        (id) =>
          Effect.map(this.#call("remove", () => this.#store.remove(id)), () => {
            this.#undeleted.delete(id)
          }),
        { concurrency, discard: true }
      )
    ).pipe(Effect.catchCause((cause) => Effect.sync(() => this.#warn("remove", cause))))
  }
}

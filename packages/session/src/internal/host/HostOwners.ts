/** The `SessionOwners` as a host uses them: its claims, the places of sessions, and the waiting for the lease. */

import * as Cause from "effect/Cause"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Random from "effect/Random"
import { type Client, nameOf } from "../ClientName.ts"
import { RateLimit } from "../engine/RateLimit.ts"
import type { SessionOwnersError, SessionOwnersShape } from "../owners/SessionOwnersShape.ts"
import type { FairTurns } from "./FairTurns.ts"
import { type OwnerProblem, OwnerUnknownError, type SessionPlace } from "./SessionHostShape.ts"

/** The time that a client waits for the lease of this process, or for a claim. */
const waitMillis = 5000

/** The bounds of the time between two attempts to claim a session. Many clients may wait for the same sessions. */
const minBackOffMillis = 50
const maxBackOffMillis = 150

/** The place of a session that is open nowhere. */
const unowned: SessionPlace = { _tag: "Unowned" }

/** The parts of a host that its owners need. */
export interface Options {
  /** The time of a clock that never jumps, in milliseconds. */
  readonly now: () => number
  /** The turns of the clients at the store, which they share with the loads of sessions. */
  readonly turns: FairTurns
}

/** The outcome of claiming a stored session. `Gone`: it has ended. */
export type Claim =
  | { readonly _tag: "Claimed"; readonly epoch: number }
  | Extract<SessionPlace, { readonly _tag: "Elsewhere" }>
  | { readonly _tag: "Gone" }

/** The owners of the sessions of a host. */
export class HostOwners {
  readonly #owners: SessionOwnersShape
  readonly #options: Options
  readonly #warnings = new RateLimit(1)

  constructor(owners: SessionOwnersShape, options: Options) {
    this.#owners = owners
    this.#options = options
  }

  /** Whether the lease of this process stands. */
  get isAlive(): boolean {
    return this.#owners.isAlive()
  }

  /** Waits for the lease of this process. */
  readonly awaitLease: Effect.Effect<void, OwnerUnknownError> = Effect.suspend(() =>
    this.#within("lease", this.#owners.awaitLease)
  )

  /**
   * Returns where a session is that is not open here, in the turn of its client. Without turns, a client that causes a
   * look by each request would take all connections to the store, and the lease of the process would be over.
   */
  locate(id: string, client: Client): Effect.Effect<SessionPlace, OwnerUnknownError> {
    const located = this.#options.turns.run(nameOf(client), this.#owners.locate(id))
    return Effect.matchCauseEffect(this.#within("store", located), {
      onSuccess: (location) =>
        location._tag === "Owned" && location.process !== this.#owners.process
          ? Exit.succeed<SessionPlace>({ _tag: "Elsewhere", address: location.address, process: location.process })
          : Exit.succeed(unowned),
      onFailure: (cause) => this.#fail("store", cause)
    })
  }

  /** Claims a new session. */
  claimNew(id: string): Effect.Effect<void, OwnerUnknownError> {
    const claimed = Effect.matchCauseEffect(Effect.suspend(() => this.#owners.claim(id, 0)), {
      onSuccess: (epoch) =>
        epoch === undefined ? Effect.fail(new OwnerUnknownError({ problem: "claim" })) : Effect.void,
      onFailure: (cause) => this.#fail("store", cause)
    })
    return Effect.andThen(this.awaitLease, claimed)
  }

  /**
   * Claims a session that is stored. While another process may still own it, and while another one is faster, its place
   * is looked up again. `refusal` returns the error of a host that may not claim sessions.
   */
  claimStored<E>(id: string, refusal: () => E | undefined): Effect.Effect<Claim, E | OwnerUnknownError> {
    return this.#within("claim", this.#claim(id, refusal))
  }

  /** Whether this process still has a session that it has claimed, as far as it knows. */
  owns({ epoch, id }: { readonly epoch: number; readonly id: string }): boolean {
    return this.#owners.owns(id, epoch)
  }

  /** Closes the sessions that this process has claimed and that the store gives it no longer. */
  get check(): Effect.Effect<void> {
    return this.#owners.check
  }

  /** Frees a session that was unloaded here. */
  release({ epoch, id }: { readonly epoch: number; readonly id: string }): Effect.Effect<void> {
    return this.#owners.release(id, epoch)
  }

  /** Deletes a session that has ended. */
  remove({ epoch, id }: { readonly epoch: number; readonly id: string }): Effect.Effect<void> {
    return this.#owners.remove(id, epoch)
  }

  readonly #claim = Effect.fnUntraced(function*<E>(
    this: HostOwners,
    id: string,
    refusal: () => E | undefined
  ): Effect.fn.Return<Claim, E> {
    for (;;) {
      yield* this.#owners.awaitLease
      const attempt = yield* Effect.exit(Effect.tapCause(this.#attempt(id, refusal), (cause) => this.#warn(cause)))
      const outcome = Exit.isSuccess(attempt) ? attempt.value : undefined
      if (outcome?._tag === "Refused") return yield* Effect.fail(outcome.error)
      if (outcome !== undefined) return outcome
      this.#owners.invalidate(id)
      const share = yield* Random.next
      yield* Effect.sleep(Duration.millis(minBackOffMillis + share * (maxBackOffMillis - minBackOffMillis)))
    }
  })

  /** Looks a session up, and claims it if it is free. Returns `undefined` if the claim is lost. */
  readonly #attempt = Effect.fnUntraced(function*<E>(
    this: HostOwners,
    id: string,
    refusal: () => E | undefined
  ): Effect.fn.Return<Claim | { readonly _tag: "Refused"; readonly error: E } | undefined, SessionOwnersError> {
    const location = yield* this.#owners.locate(id)
    if (location._tag === "Unknown") return { _tag: "Gone" }
    if (location._tag === "Owned" && location.process !== this.#owners.process) {
      return { _tag: "Elsewhere", address: location.address, process: location.process }
    }
    const error = refusal()
    if (error !== undefined) return { _tag: "Refused", error }
    const epoch = yield* this.#owners.claim(id, location.epoch)
    return epoch === undefined ? undefined : { _tag: "Claimed", epoch }
  })

  #within<A, E>(
    problem: OwnerProblem,
    effect: Effect.Effect<A, E>
  ): Effect.Effect<A, E | OwnerUnknownError> {
    return Effect.timeoutOrElse(effect, {
      duration: Duration.millis(waitMillis),
      orElse: () => Effect.fail(new OwnerUnknownError({ problem }))
    })
  }

  #fail(problem: OwnerProblem, cause: Cause.Cause<unknown>): Effect.Effect<never, OwnerUnknownError> {
    return Effect.andThen(
      this.#warn(cause),
      Effect.fail(new OwnerUnknownError({ problem, cause: Cause.squash(cause) }))
    )
  }

  #warn(cause: Cause.Cause<unknown>): Effect.Effect<void> {
    return Cause.hasInterruptsOnly(cause) || !this.#warnings.take(this.#options.now())
      ? Effect.void
      : Effect.logWarning("the store of session owners failed", cause)
  }
}

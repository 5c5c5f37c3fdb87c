/** The end of all that a principal has, at every process: its sessions, the stored ones, and its streams. */

import * as Cause from "effect/Cause"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Base64Url from "effect/encoding/Base64Url"
import * as Fiber from "effect/Fiber"
import type * as Scope from "effect/Scope"
import type { SessionStore, SessionStoreError } from "../../SessionStore.ts"
import type { ChangeBusShape } from "../bus/ChangeBusShape.ts"
import type * as ForeignCall from "../engine/ForeignCall.ts"
import * as StoreCall from "../engine/StoreCall.ts"
import { bytesOf, subtle } from "../webCrypto.ts"
import type { HostOwners } from "./HostOwners.ts"

/** The scope of the changes: that of all hosts that share a bus, as they share the stored sessions. */
const scope = "@effect-mcp/session"

/** The kind of a change whose key is the digest of a principal. */
const kind = "principal"

/** The time limit of a deletion. */
const deadlineMillis = 5000

/** The time between two attempts. */
const retryMillis = 1000

/** The number of principals whose stored sessions are deleted again after a failure. */
const maxUndeleted = 1000

/** The parts of a host that this needs. */
export interface Options {
  readonly bus: ChangeBusShape | undefined
  readonly store: SessionStore["Service"] | undefined
  readonly owners: Pick<HostOwners, "check"> | undefined
  /** Returns the ids of the principals that have sessions or streams here. */
  readonly principals: () => ReadonlySet<string>
  /** Ends what a principal has here. */
  readonly end: (principal: string) => Effect.Effect<void>
  /** Ends the streams of notifications of all principals. */
  readonly endStreams: () => void
  fork<A, E>(effect: Effect.Effect<A, E>): Fiber.Fiber<A, E>
}

/** Returns the digest of a principal: a reader of a channel must not learn more than one of the stores. */
const digestOf = (principal: string): Effect.Effect<string> =>
  Effect.map(
    Effect.promise(() => subtle().digest("SHA-256", bytesOf(principal))),
    (digest) => Base64Url.encode(new Uint8Array(digest))
  )

/** Ends principals at this host, and by the bus at the others. */
export class PrincipalEnds {
  readonly #options: Options
  /** The principals whose stored sessions could not be deleted. */
  readonly #undeleted = new Set<string>()
  #deleting: Fiber.Fiber<void> | undefined

  constructor(options: Options) {
    this.#options = options
  }

  /** Ends what the other processes say, until the scope closes. */
  readonly listen: Effect.Effect<void, never, Scope.Scope> = Effect.suspend(() => {
    const { bus, endStreams, fork } = this.#options
    if (bus === undefined) return Effect.void
    return bus.subscribe({
      scope,
      onChange: (change) => {
        if (change.kind === kind) fork(this.#endByDigest(change.key))
      },
      // Any principal may have ended. Its stored sessions were deleted, and each other client listens again.
      onGap: () => {
        endStreams()
        fork(this.#check)
      }
    })
  })

  /** Ends a principal, and waits until its sessions here have closed and the stored ones are deleted. */
  end(principal: string): Effect.Effect<void> {
    return Effect.all([this.#options.end(principal), this.#endElsewhere(principal)], {
      concurrency: 2,
      discard: true
    })
  }

  /** Stops deleting what could not be deleted. */
  stop(): Effect.Effect<void> {
    return Effect.suspend(() => this.#deleting === undefined ? Effect.void : Fiber.interrupt(this.#deleting))
  }

  #endElsewhere(principal: string): Effect.Effect<void> {
    return Effect.catchCause(this.#delete(principal), (cause) => this.#deleteLater(principal, cause)).pipe(
      Effect.andThen(this.#publish(principal))
    )
  }

  #publish(principal: string): Effect.Effect<void> {
    const { bus } = this.#options
    if (bus === undefined) return Effect.void
    return Effect.flatMap(digestOf(principal), (key) => bus.publish({ scope, kind, key }))
  }

  /** Deletes the stored sessions of a principal. Other hosts of this process may have had some of them. */
  #delete(principal: string): Effect.Effect<void, ForeignCall.TimedOut | SessionStoreError> {
    const { store } = this.#options
    const removeAllOf = store?.removeAllOf
    if (removeAllOf === undefined) return Effect.void
    return Effect.andThen(
      StoreCall.within("SessionStore", "removeAllOf", deadlineMillis, () => removeAllOf(principal)),
      this.#check
    )
  }

  #deleteLater(principal: string, cause: Cause.Cause<unknown>): Effect.Effect<void> {
    if (Cause.hasInterruptsOnly(cause)) return Effect.void
    if (this.#undeleted.size >= maxUndeleted) {
      return Effect.logError(
        "closePrincipal: the stored sessions of a principal were not deleted; call it again",
        cause
      )
    }
    this.#undeleted.add(principal)
    this.#deleting ??= this.#options.fork(this.#deleteAgain())
    return Effect.logWarning("closePrincipal: the stored sessions of a principal are not deleted yet", cause)
  }

  #deleteAgain(): Effect.Effect<void> {
    const attempt = (principal: string) =>
      Effect.matchCauseEffect(this.#delete(principal), {
        onFailure: () => Effect.void,
        // A process that has missed the first change learns of this one, or of a gap.
        onSuccess: () =>
          Effect.suspend(() => {
            this.#undeleted.delete(principal)
            return this.#publish(principal)
          })
      })
    return Effect.ensuring(
      Effect.whileLoop({
        while: () => this.#undeleted.size > 0,
        body: () =>
          Effect.andThen(
            Effect.sleep(Duration.millis(retryMillis)),
            Effect.suspend(() => Effect.forEach(Array.from(this.#undeleted), attempt, { discard: true }))
          ),
        step: () => {}
      }),
      Effect.sync(() => {
        this.#deleting = undefined
      })
    )
  }

  #endByDigest(digest: string): Effect.Effect<void> {
    const { end, principals } = this.#options
    return Effect.forEach(
      principals(),
      (principal) => Effect.flatMap(digestOf(principal), (own) => own === digest ? end(principal) : Effect.void),
      { discard: true }
    )
  }

  /** Closes the sessions that were deleted while this process has them. */
  get #check(): Effect.Effect<void> {
    return this.#options.owners?.check ?? Effect.void
  }
}

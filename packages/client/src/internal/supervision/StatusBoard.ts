/** The status of a client: its present value, those who wait for a session, and the followers of its changes. */

import type * as ClientSession from "@effect-mcp/session/ClientSession"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as PubSub from "effect/PubSub"
import * as Stream from "effect/Stream"
import type * as ServerStatus from "../../ServerStatus.ts"
import { ServerUnavailable } from "../../ServerUnavailable.ts"

type Session = ClientSession.ClientSessionShape

/** The number of changes that are kept for a slow follower of the status. Then it misses the oldest. */
const maxLag = 16

/** The status of one client. */
export class StatusBoard {
  readonly #server: string
  readonly #changes: PubSub.PubSub<ServerStatus.ServerStatus>
  readonly #waiters = new Set<Deferred.Deferred<Session | undefined>>()
  #status: ServerStatus.ServerStatus = { _tag: "Connecting", attempt: 1 }
  #session: Session | undefined

  private constructor(server: string, changes: PubSub.PubSub<ServerStatus.ServerStatus>) {
    this.#server = server
    this.#changes = changes
  }

  static make(server: string): Effect.Effect<StatusBoard> {
    return Effect.map(
      // `SubscriptionRef` would keep all changes for a slow follower.
      PubSub.sliding<ServerStatus.ServerStatus>({ capacity: maxLag, replay: 1 }),
      (changes) => new StatusBoard(server, changes)
    )
  }

  get status(): ServerStatus.ServerStatus {
    return this.#status
  }

  /** The present session, unless it has begun to end. */
  get session(): Session | undefined {
    return this.#session
  }

  /** Streams the present status, and then its changes. */
  get changes(): Stream.Stream<ServerStatus.ServerStatus> {
    return Stream.fromPubSub(this.#changes)
  }

  /** Sets the status while there is no session. Those who wait fail if there will be none. */
  set(status: Exclude<ServerStatus.ServerStatus, { readonly _tag: "Ready" }>): Effect.Effect<void> {
    return Effect.suspend(() => {
      this.#session = undefined
      this.#status = status
      if (this.#isFinal) {
        for (const waiter of this.#waiters) Deferred.doneUnsafe(waiter, Exit.succeed(undefined))
      }
      return Effect.asVoid(PubSub.publish(this.#changes, status))
    })
  }

  /** Sets the session, and hands it to those who wait for one. Does nothing if the session has begun to end. */
  open(session: Session): Effect.Effect<void> {
    return Effect.flatMap(session.state, (state) => {
      if (state._tag === "Closing" || state._tag === "Closed") return Effect.void
      this.#session = session
      this.#status = { _tag: "Ready", profile: session.profile }
      for (const waiter of this.#waiters) Deferred.doneUnsafe(waiter, Exit.succeed(session))
      return Effect.asVoid(PubSub.publish(this.#changes, this.#status))
    })
  }

  /** Removes a session that has begun to end, so that no call takes it any more. */
  leave(): void {
    this.#session = undefined
  }

  /** Waits for a session, for a caller that has waited since a time, and waits for `totalMillis` after it. */
  ready(since: number, totalMillis: number): Effect.Effect<Session, ServerUnavailable> {
    return Effect.clockWith((clock) => {
      const waited = () => Math.min(clock.currentTimeMillisUnsafe() - since, totalMillis)
      const unavailable = Effect.suspend(() =>
        Effect.fail(new ServerUnavailable({ server: this.#server, status: this.#status, waitedMillis: waited() }))
      )
      if (this.#session !== undefined) return Effect.succeed(this.#session)
      if (this.#isFinal) return unavailable
      const waiter = Deferred.makeUnsafe<Session | undefined>()
      this.#waiters.add(waiter)
      return Deferred.await(waiter).pipe(
        Effect.timeoutOrElse({ duration: totalMillis - waited(), orElse: () => Effect.undefined }),
        Effect.flatMap((session) => session === undefined ? unavailable : Effect.succeed(session)),
        Effect.ensuring(Effect.sync(() => this.#waiters.delete(waiter)))
      )
    })
  }

  get #isFinal(): boolean {
    return this.#status._tag === "Down" && this.#status.retryMillis === undefined
  }
}

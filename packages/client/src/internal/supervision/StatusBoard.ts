/** The status of a client: its present value, those who wait for a session, and the followers of its changes. */

import type * as ClientSession from "@effect-mcp/session/ClientSession"
import type { RequestError } from "@effect-mcp/session/RequestError"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as PubSub from "effect/PubSub"
import * as Stream from "effect/Stream"
import * as ServerStatus from "../../ServerStatus.ts"
import { ServerUnavailableError } from "../../ServerUnavailableError.ts"
import * as PermanentProblem from "../PermanentProblem.ts"
import type { WaitingTime } from "./WaitingTime.ts"

type Session = ClientSession.ClientSessionShape

/** The number of changes that are kept for a slow follower of the status. Then it misses the oldest. */
const maxLag = 16

/** The status of one client. */
export class StatusBoard {
  readonly #server: string
  readonly #changes: PubSub.PubSub<ServerStatus.ServerStatus>
  readonly #sessions: PubSub.PubSub<Session | undefined>
  readonly #waiters = new Set<Deferred.Deferred<Session, ServerStatus.ServerStatus>>()
  #status: ServerStatus.ServerStatus = { _tag: "Connecting", attempt: 1 }
  #session: Session | undefined
  #fellBack: string | undefined
  /** The status before the client began to wait for a person. */
  #connecting: ServerStatus.ServerStatus | undefined
  /** Completed when the present session is no longer present. */
  #gone = Deferred.makeUnsafe<void>()

  private constructor(
    server: string,
    changes: PubSub.PubSub<ServerStatus.ServerStatus>,
    sessions: PubSub.PubSub<Session | undefined>
  ) {
    this.#server = server
    this.#changes = changes
    this.#sessions = sessions
  }

  static make(server: string): Effect.Effect<StatusBoard> {
    return Effect.zipWith(
      // `SubscriptionRef` would keep all changes for a slow follower.
      PubSub.sliding<ServerStatus.ServerStatus>({ capacity: maxLag, replay: 1 }),
      PubSub.sliding<Session | undefined>({ capacity: 1, replay: 1 }),
      (changes, sessions) => new StatusBoard(server, changes, sessions)
    )
  }

  get status(): ServerStatus.ServerStatus {
    return this.#status
  }

  /** The present session, unless it has begun to end. */
  get session(): Session | undefined {
    return this.#session
  }

  /** Streams the present status, and then its changes. Ends after a status that is final. */
  get changes(): Stream.Stream<ServerStatus.ServerStatus> {
    return Stream.takeUntil(Stream.fromPubSub(this.#changes), ServerStatus.isFinal)
  }

  /** Streams the present session, each later one, and a session again that was renewed. Fails if there is none left. */
  get sessions(): Stream.Stream<Session, ServerUnavailableError> {
    return Stream.mapEffect(
      Stream.fromPubSub(this.#sessions),
      (session) => session === undefined ? Effect.fail(this.#unavailable(0)) : Effect.succeed(session)
    )
  }

  /**
   * Sets the status while there is no session. Those who wait fail with it if there will be none, or none until a
   * problem is corrected.
   */
  set(status: Exclude<ServerStatus.ServerStatus, { readonly _tag: "Ready" }>): void {
    // Nothing follows the end of the client.
    if (this.#isFinal) return
    this.#session = undefined
    Deferred.doneUnsafe(this.#gone, Exit.void)
    this.#publish(status)
    if (this.#isHopeless) { for (const waiter of this.#waiters) Deferred.doneUnsafe(waiter, Exit.fail(status)) }
    if (this.#isFinal) PubSub.publishUnsafe(this.#sessions, undefined)
  }

  /** Sets the session, and hands it to those who wait for one. Does nothing if the session has begun to end. */
  open(session: Session): Effect.Effect<void> {
    return Effect.map(session.state, (state) => {
      if (state._tag === "Closing" || state._tag === "Closed" || this.#isFinal) return
      if (this.#session !== session) this.#gone = Deferred.makeUnsafe()
      this.#session = session
      // The client has learned nothing new if it has prepared the present session again.
      if (this.#status._tag !== "Ready" || this.#status.profile !== session.profile) {
        const ready = { _tag: "Ready", profile: session.profile } as const
        this.#publish(this.#fellBack === undefined ? ready : { ...ready, fellBack: this.#fellBack })
      }
      for (const waiter of this.#waiters) Deferred.doneUnsafe(waiter, Exit.succeed(session))
      PubSub.publishUnsafe(this.#sessions, session)
    })
  }

  /** Waits until the present session is no longer present. */
  get left(): Effect.Effect<void> {
    return Effect.suspend(() => this.#session === undefined ? Effect.void : Deferred.await(this.#gone))
  }

  /** Shows the first text of the server that is no message, while the client connects. */
  stray(text: string): void {
    if (this.#status._tag === "Connecting") this.#publish({ ...this.#status, stray: text })
  }

  /** Shows that a person has to authorize the client, while it connects. */
  authorizing(awaited: Omit<Extract<ServerStatus.ServerStatus, { readonly _tag: "Authorizing" }>, "_tag">): void {
    const { _tag } = this.#status
    if (_tag !== "Connecting" && _tag !== "Authorizing") return
    if (this.#status._tag === "Connecting") this.#connecting = this.#status
    this.#publish({ _tag: "Authorizing", ...awaited })
  }

  /** Shows that the client connects again, after a person has authorized it. */
  authorized(): void {
    if (this.#status._tag === "Authorizing" && this.#connecting !== undefined) this.#publish(this.#connecting)
  }

  /** Stores why the next session has a handshake, if the client has guessed that. */
  fellBack(problem: string | undefined): void {
    this.#fellBack = problem
  }

  /** Removes the session because it has begun to end, so that no call takes it any more. */
  leave(): void {
    if (this.#status._tag === "Ready") this.set({ _tag: "Closing" })
  }

  /** Waits for some time, and not longer than the present session is there. */
  pause(millis: number): Effect.Effect<void> {
    return Effect.asVoid(Effect.timeoutOption(this.left, millis))
  }

  /** Waits for a session. Fails at once while no wait would help. */
  ready(time: WaitingTime): Effect.Effect<Session, ServerUnavailableError> {
    return Effect.suspend(() => {
      if (this.#session !== undefined) return Effect.succeed(this.#session)
      const unavailable = (status: ServerStatus.ServerStatus) =>
        Effect.fail(this.#unavailable(time.spentMillis, status))
      if (this.#isHopeless) return unavailable(this.#status)
      const waiter = Deferred.makeUnsafe<Session, ServerStatus.ServerStatus>()
      this.#waiters.add(waiter)
      return time.atMost(Deferred.await(waiter)).pipe(
        Effect.ensuring(Effect.sync(() => this.#waiters.delete(waiter))),
        // The status of the problem, because the next attempt may have begun meanwhile.
        Effect.catch(unavailable),
        Effect.flatMap((session) => session === undefined ? unavailable(this.#status) : Effect.succeed(session))
      )
    })
  }

  /** Returns the error of a call that could not reach the server in the present session. */
  unreachable(error: RequestError, time: WaitingTime): ServerUnavailableError {
    return new ServerUnavailableError({
      server: this.#server,
      status: this.#status,
      waitedMillis: time.spentMillis,
      unreachable: error
    })
  }

  #publish(status: ServerStatus.ServerStatus): void {
    this.#status = status
    PubSub.publishUnsafe(this.#changes, status)
  }

  #unavailable(waitedMillis: number, status: ServerStatus.ServerStatus = this.#status): ServerUnavailableError {
    return new ServerUnavailableError({ server: this.#server, status, waitedMillis })
  }

  /** Whether no wait would help a call: there is no further attempt, or each one fails until a problem is corrected. */
  get #isHopeless(): boolean {
    return this.#isFinal || (this.#status._tag === "Down" && PermanentProblem.is(this.#status.problem))
  }

  get #isFinal(): boolean {
    return ServerStatus.isFinal(this.#status)
  }
}

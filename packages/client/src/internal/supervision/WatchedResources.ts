/** The contents of resources, read again whenever the server notifies of an update or is connected again. */

import type { Resource } from "@effect-mcp/protocol"
import type * as ClientSession from "@effect-mcp/session/ClientSession"
import { monotonicMillis } from "@effect-mcp/session/internal"
import { ResendPolicy } from "@effect-mcp/session/internalEngine"
import type * as RequestError from "@effect-mcp/session/RequestError"
import type * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Queue from "effect/Queue"
import * as Schedule from "effect/Schedule"
import type * as Scope from "effect/Scope"
import * as Semaphore from "effect/Semaphore"
import * as Stream from "effect/Stream"
import type { ServerUnavailableError } from "../../ServerUnavailableError.ts"
import * as Reconnection from "./Reconnection.ts"
import type { StatusBoard } from "./StatusBoard.ts"

type Session = ClientSession.ClientSessionShape

/** An effect after an update of a resource, in the session with its server. */
type Use<A> = (session: Session) => Effect.Effect<A, RequestError.RequestError>

/** The subscription of one session to one resource. All streams of the resource share it. */
interface Subscription {
  watchers: number
  /** The knowledge of the server: `Unknown` after a request without a response. */
  state: "Open" | "Closed" | "Unknown"
  /** The subscription is opened or closed by one fiber at a time, so that the server gets the requests in order. */
  readonly adjusting: Semaphore.Semaphore
}

/**
 * The least time between two readings of a resource by one stream, in milliseconds. A server that notifies of an update
 * at each reading would have the client read without a pause.
 */
const leastMillis = 100

/** The time that a server has to end a subscription, in milliseconds. */
const endMillis = 10_000

/** Returns whether the error says nothing about the resource: the session or a message was lost. */
const isPassing = (error: RequestError.RequestError): boolean =>
  error.reason._tag === "Timeout" || ResendPolicy.outcomeOf(error) !== "Final"

/** Returns whether an update concerns a resource: a server may name a part of it. */
const concerns = (uri: string, updated: string): boolean =>
  updated === uri || updated.startsWith(uri.endsWith("/") ? uri : `${uri}/`)

/** The watched resources of one client. */
export class WatchedResources {
  readonly #board: StatusBoard
  readonly #subscriptions = new WeakMap<Session, Map<string, Subscription>>()

  constructor(board: StatusBoard) {
    this.#board = board
  }

  /** Streams the contents of a resource, in this session and in all later ones. */
  watch(uri: string): Stream.Stream<Resource.ReadResourceResult, RequestError.RequestError | ServerUnavailableError> {
    return this.follow(uri, (session) => session.readResource(uri, { reload: true }))
  }

  /**
   * Subscribes to a resource, in this session and in all later ones. Streams the results of an effect that runs at the
   * beginning of each subscription, and after each update.
   */
  follow<A>(uri: string, use: Use<A>): Stream.Stream<A, RequestError.RequestError | ServerUnavailableError> {
    return Stream.switchMap(
      this.#board.sessions,
      (session) => this.#whileOpen(session, uri, use),
      // A slow follower gets what is new, and not all that was read meanwhile.
      { bufferSize: 1 }
    )
  }

  /** Drops the subscriptions of a session that the server has lost. Their streams subscribe again. */
  lost(session: Session): void {
    for (const subscription of this.#subscriptions.get(session)?.values() ?? []) subscription.state = "Closed"
  }

  /** Begins again in a session that stays, because over HTTP it outlives its server. Ends with the session. */
  #whileOpen<A>(session: Session, uri: string, use: Use<A>): Stream.Stream<A, RequestError.RequestError> {
    const isOpen = () => this.#board.session === session
    return Stream.retry(
      this.#inSession(session, uri, use),
      ($) => $(Reconnection.defaultSchedule).pipe(Schedule.while(({ input }) => isPassing(input) && isOpen()))
    ).pipe(Stream.catchIf((error) => isPassing(error) && !isOpen(), () => Stream.empty))
  }

  /**
   * Runs the effect in one session: at the beginning, and after each update. Updates that arrive while it runs, during
   * the pause after it, or while the follower is busy, count as one.
   */
  #inSession<A>(session: Session, uri: string, use: Use<A>): Stream.Stream<A, RequestError.RequestError> {
    return Stream.unwrap(Effect.gen({ self: this }, function*() {
      const updates = yield* Queue.sliding<void, Cause.Done>(1)
      // Before the subscription, so that no update is missed.
      yield* Effect.forkScoped(
        Effect.ensuring(
          Stream.runForEach(
            session.notifications("notifications/resources/updated"),
            (update) => concerns(uri, update.uri) ? Queue.offer(updates, undefined) : Effect.void
          ),
          Queue.end(updates)
        ),
        { startImmediately: true }
      )
      yield* this.#subscribe(session, uri)
      yield* Queue.offer(updates, undefined)
      let usedAt = Number.NEGATIVE_INFINITY
      // The pause is before an update is taken, so that the queue keeps the last one meanwhile.
      const update = Effect.andThen(
        Effect.clockWith((clock) => Effect.sleep(Math.max(0, usedAt + leastMillis - monotonicMillis(clock)))),
        Queue.take(updates)
      )
      const used = Effect.clockWith((clock) => {
        usedAt = monotonicMillis(clock)
        return use(session)
      })
      return Stream.mapEffect(Stream.fromEffectRepeat(update), () => used)
    }))
  }

  /** Subscribes for as long as the scope is open. */
  #subscribe(session: Session, uri: string): Effect.Effect<void, RequestError.RequestError, Scope.Scope> {
    return Effect.flatMap(
      Effect.acquireRelease(
        Effect.sync(() => {
          const subscription = this.#of(session, uri)
          subscription.watchers++
          return subscription
        }),
        (subscription) =>
          Effect.suspend(() =>
            --subscription.watchers > 0
              ? Effect.void
              // The program does not wait for the server, and the request is sent although the program may end.
              : Effect.forkDetach(Effect.ignore(this.#adjust(session, uri, subscription)), { startImmediately: true })
          )
      ),
      (subscription) => this.#adjust(session, uri, subscription)
    )
  }

  #of(session: Session, uri: string): Subscription {
    const subscriptions = this.#subscriptions.get(session) ?? new Map<string, Subscription>()
    this.#subscriptions.set(session, subscriptions)
    const subscription = subscriptions.get(uri) ??
      { watchers: 0, state: "Closed", adjusting: Semaphore.makeUnsafe(1) }
    subscriptions.set(uri, subscription)
    return subscription
  }

  /** Opens or closes a subscription, as its watchers need it. */
  #adjust(session: Session, uri: string, subscription: Subscription): Effect.Effect<void, RequestError.RequestError> {
    const change = (state: "Open" | "Closed", request: Effect.Effect<void, RequestError.RequestError>) =>
      Effect.suspend(() => {
        if (subscription.state === state) return Effect.void
        subscription.state = "Unknown"
        return Effect.andThen(
          request,
          Effect.sync(() => {
            subscription.state = state
          })
        )
      })
    return subscription.adjusting.withPermits(1)(Effect.suspend(() => {
      if (subscription.watchers > 0) return change("Open", session.subscribeResource(uri))
      return Effect.andThen(
        change("Closed", session.unsubscribeResource(uri, { timeout: endMillis })),
        Effect.sync(() => {
          if (subscription.watchers === 0) this.#subscriptions.get(session)?.delete(uri)
        })
      )
    }))
  }
}

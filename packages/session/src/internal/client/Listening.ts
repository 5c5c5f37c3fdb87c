/**
 * The stream of notifications that a client keeps open with `subscriptions/listen`, in a revision without a handshake.
 *
 * Older revisions notify every client of changes. Here the client asks: for the lists that its handlers and streams
 * follow, and for the resources that it has subscribed to. If these change, it opens a new stream before it closes the
 * old one, so that no change falls in between. A list is requested after the server serves its changes, for the same
 * reason. After a loss of the stream, everything that it served counts as changed.
 */

import { type CloseReason, ErrorCode, JsonRpc, MethodTable, type Profile, Subscription } from "@effect-mcp/protocol"
import * as Deferred from "effect/Deferred"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type * as Fiber from "effect/Fiber"
import * as Option from "effect/Option"
import * as Predicate from "effect/Predicate"
import * as Random from "effect/Random"
import * as Result from "effect/Result"
import * as Stream from "effect/Stream"
import type { Limits } from "../../Limits.ts"
import * as RequestError from "../../RequestError.ts"
import type { RequestOptions } from "../../RequestOptions.ts"
import type { SessionEvent } from "../../SessionEvent.ts"
import * as Deadline from "../engine/Deadline.ts"
import type { RequestLayer } from "../engine/Layers.ts"
import * as Outgoing from "../engine/Outgoing.ts"
import type { PendingRequests } from "../engine/PendingRequests.ts"
import type { Sender } from "../engine/Sender.ts"
import { validate } from "../engine/validation.ts"
import type { Notifications } from "./EarlyLogs.ts"
import * as ListenFilter from "./ListenFilter.ts"
import { type Waiter, WantedNotifications } from "./WantedNotifications.ts"

const { notifications, requests } = MethodTable
const listen = requests["subscriptions/listen"]
const subscribe = requests["resources/subscribe"]
const acknowledged = notifications["notifications/subscriptions/acknowledged"]
const updated = notifications["notifications/resources/updated"]

/** The session of the stream. */
export interface ListeningRuntime extends Outgoing.Handshaking {
  readonly connection: { readonly request?: unknown }
  readonly exchanges: Pick<PendingRequests, "find">
  readonly limits: Pick<Limits, "requestTimeout">
  readonly timer: { now(): number }
  emit(event: SessionEvent): void
  fork<A, E>(effect: Effect.Effect<A, E>): Fiber.Fiber<A, E>
}

/** The client whose program wants the notifications. */
export interface ListeningDependencies {
  readonly server: Profile.ServerProfile
  readonly sender: Pick<Sender, "exchange">
  readonly notifications: Notifications
  /** Called with a change that the server did not send, because the stream was lost. */
  readonly onMissed: (message: JsonRpc.Notification) => void
}

/** One stream of the server. */
interface Opened {
  id: JsonRpc.Request["id"] | undefined
  /** The filter that the client has asked for, without the resources that the server does not serve. */
  requested: ListenFilter.ListenFilter
  /** The filter that the server serves; `undefined` until it has acknowledged. */
  served: ListenFilter.ListenFilter | undefined
  readonly acknowledged: Deferred.Deferred<void, RequestError.RequestError>
  fiber: Fiber.Fiber<unknown, RequestError.RequestError> | undefined
  servedAt: number
  /** Whether a request for a list has waited for the acknowledgement in vain. Later ones do not wait. */
  isLate: boolean
}

/** The pauses before a stream is opened again, in milliseconds. They double from loss to loss. */
const pause = { first: 500, longest: 30_000 }

/** The longest time that a request for a list waits for the acknowledgement of its changes, in milliseconds. */
const longestWait = 2_000

/** The statuses below 500 that say nothing about the next attempt. */
const passingStatuses: ReadonlySet<number> = new Set([401, 408, 425, 429])

/** Returns whether the server may open the stream later: it has failed, is busy or does not know the user yet. */
const isPassing = ({ reason }: RequestError.RequestError): boolean => {
  switch (reason._tag) {
    case "ErrorResponse":
      return reason.error.code === ErrorCode.InternalError || reason.error.code === ErrorCode.Overloaded
    case "SendFailed": {
      const failure = reason.error.reason
      return failure._tag !== "Rejected" || failure.status >= 500 || passingStatuses.has(failure.status)
    }
    case "OutcomeUnknown":
    case "Timeout":
      return true
    default:
      return false
  }
}

/** Keeps the stream of one session in step with what its program wants. */
export class Listening {
  readonly #runtime: ListeningRuntime
  readonly #dependencies: ListeningDependencies
  readonly #wanted: WantedNotifications
  #isStarted = false
  #current: Opened | undefined
  #opening: Opened | undefined
  #worker: Fiber.Fiber<void> | undefined
  #isAdjusting = false
  #isPausing = false
  /** Completed at the next step of a stream that is being opened. Requests for lists wait for it. */
  #nextStep: Deferred.Deferred<void> | undefined
  /** The filter that was served when the stream was lost. */
  #lost: ListenFilter.ListenFilter | undefined
  /** The filter that the server has refused for good. */
  #refused: ListenFilter.ListenFilter | undefined
  #losses = 0
  #lostAt = Number.NEGATIVE_INFINITY
  #isEnded = false

  constructor(runtime: ListeningRuntime, dependencies: ListeningDependencies) {
    this.#runtime = runtime
    this.#dependencies = dependencies
    this.#wanted = new WantedNotifications(dependencies.server)
  }

  /** Opens the first stream, if the program wants one. */
  start(): void {
    this.#isStarted = true
    this.#wake()
  }

  /** Fails the subscriptions that wait, because the session ends. */
  end(reason: CloseReason.CloseReason): void {
    this.#isEnded = true
    this.#worker?.interruptUnsafe()
    this.#step()
    this.#failWaiting({ _tag: "Closed", reason, isSent: this.#opening !== undefined })
  }

  // ===================================================================================================================
  // What the program wants
  // ===================================================================================================================

  /** Adds a follower of changes of a list. The session may not have been established yet. */
  follow(change: Subscription.ListChange): void {
    this.#wanted.follow(change)
    this.#wake()
  }

  #unfollow(change: Subscription.ListChange): void {
    this.#wanted.unfollow(change)
    this.#wake()
  }

  /** Returns a stream of notifications during which the server is asked for them. */
  during<A>(method: string, stream: Stream.Stream<A>): Stream.Stream<A> {
    return ListenFilter.isListChange(method)
      ? Stream.unwrap(Effect.as(
        Effect.acquireRelease(
          Effect.sync(() => this.follow(method)),
          () => Effect.sync(() => this.#unfollow(method))
        ),
        stream
      ))
      : stream
  }

  /** Subscribes to a resource: waits until the server has acknowledged that it serves its changes. */
  subscribe<R>(
    uri: string,
    options: RequestOptions<R> | undefined
  ): Effect.Effect<void, RequestError.RequestError> {
    return Effect.suspend(() => {
      const blocked = this.#blocked()
      if (blocked !== undefined) return Effect.fail(RequestError.make(subscribe.name, blocked))
      const millis = Math.min(
        options?.timeout === undefined ? this.#runtime.limits.requestTimeout : Duration.toMillis(options.timeout),
        options?.totalTimeout === undefined ? Number.POSITIVE_INFINITY : Duration.toMillis(options.totalTimeout)
      )
      const timedOut = RequestError.make(subscribe.name, { _tag: "Timeout", afterMillis: millis })
      if (millis <= 0) return Effect.fail(timedOut)
      this.#wanted.add(uri)
      if (this.#current?.served?.uris.has(uri) === true) return Effect.void
      const waiter = this.#wanted.wait(uri)
      this.#refused = undefined
      // The program asks, and not the client by itself: there is no need to wait.
      this.#lostAt = Number.NEGATIVE_INFINITY
      this.#wake()
      return Deferred.await(waiter).pipe(
        Effect.timeoutOrElse({
          duration: Duration.millis(millis),
          orElse: () => Effect.fail(timedOut)
        }),
        Effect.onExit((exit) => Effect.sync(() => this.#leave(uri, waiter, Exit.isSuccess(exit))))
      )
    })
  }

  /** Ends the subscription to a resource. No notification of it is delivered any more. */
  unsubscribe(uri: string): Effect.Effect<void, RequestError.RequestError> {
    return Effect.suspend(() => {
      const blocked = this.#blocked()
      if (blocked !== undefined) return Effect.fail(RequestError.make("resources/unsubscribe", blocked))
      this.#wanted.remove(uri)
      // A subscription that still waits has ended as well. No stream would acknowledge it any more.
      this.#wanted.settle(uri, Exit.void)
      this.#wake()
      return Effect.void
    })
  }

  /** Returns why the program cannot subscribe. */
  #blocked(): RequestError.RequestErrorReason | undefined {
    const admission = Outgoing.admitRequest(this.#runtime, Outgoing.sendRequest)
    if (typeof admission === "object") return admission
    return this.#dependencies.server.capabilities.resources?.subscribe === true
      ? undefined
      : { _tag: "MissingCapability", capability: "resources.subscribe" }
  }

  #leave(uri: string, waiter: Waiter, isServed: boolean): void {
    const isLast = this.#wanted.leave(uri, waiter)
    // Nothing waits for it any more, and the server does not serve it.
    if (isServed || !isLast || this.#current?.served?.uris.has(uri) === true) return
    this.#wanted.remove(uri)
    this.#wake()
  }

  /**
   * Requests a list whose changes are followed after the server has acknowledged that it
   * serves them. A change between both would be lost otherwise. The wait is part of the time of the request. If the
   * server is late, the list is requested without its acknowledgement, and counts as changed after it.
   */
  readonly layer: RequestLayer = (send) => (row, params, options) =>
    Effect.suspend(() => {
      const change = ListenFilter.changeOf.get(row.name)
      if (change === undefined || !this.#isUnserved(change)) return send(row, params, options)
      const time = Deadline.share(options, this.#runtime.limits, this.#runtime.timer)
      const bound = Math.min(longestWait, time.shortest / 2)
      return Effect.flatMap(Effect.timeoutOption(this.#untilServed(change), Duration.millis(bound)), (served) => {
        if (Option.isNone(served)) this.#late(change, bound)
        const spent = time.spent()
        // The caller set the time of the request with the wait.
        return Effect.mapError(send(row, params, { ...options, ...time.options() }), (error) => {
          if (error.reason._tag !== "Timeout") return error
          const afterMillis = Math.round((error.reason.afterMillis + spent) * 1000) / 1000
          return RequestError.make(error.method, { _tag: "Timeout", afterMillis })
        })
      })
    })

  /** Returns whether the program follows changes that the server may not know of when it reads the next request. */
  #isUnserved(change: Subscription.ListChange): boolean {
    if (!this.#wanted.isFollowed(change) || this.#current?.served?.changes.has(change) === true) return false
    // A connection for all messages keeps their order: the server reads the next request after that for the stream.
    return this.#opening?.id === undefined || this.#runtime.connection.request !== undefined
  }

  /** Waits until the server serves a change, or until nothing leads to that without a loss. */
  #untilServed(change: Subscription.ListChange): Effect.Effect<void> {
    return Effect.suspend(() => {
      if (!this.#isUnserved(change)) return Effect.void
      const isComing = this.#isAdjusting && !this.#isPausing && this.#lost === undefined &&
        this.#opening?.isLate !== true && this.#wanted.filter.changes.has(change)
      if (isComing) {
        this.#nextStep ??= Deferred.makeUnsafe()
        return Effect.flatMap(Deferred.await(this.#nextStep), () => this.#untilServed(change))
      }
      this.#wanted.list(change)
      return Effect.void
    })
  }

  /** Handles a server that has not acknowledged the stream in time. */
  #late(change: Subscription.ListChange, millis: number): void {
    this.#wanted.list(change)
    const opening = this.#opening
    if (opening === undefined || opening.isLate) return
    opening.isLate = true
    const problem = `${listen.name}: not acknowledged within ${millis} ms; lists that are read before count as changed`
    this.#runtime.emit({ _tag: "NotListening", problem, isFinal: false })
    this.#step()
  }

  /** Lets the requests that wait judge the stream again. */
  #step(): void {
    const step = this.#nextStep
    this.#nextStep = undefined
    if (step !== undefined) Deferred.doneUnsafe(step, Exit.void)
  }

  // ===================================================================================================================
  // What the server sends
  // ===================================================================================================================

  /** Judges a notification of a stream. Returns `true` if it goes no further. */
  intercept(message: JsonRpc.Notification): boolean {
    const { method } = message
    if (method === acknowledged.name) return this.#acknowledge(message)
    if (method !== updated.name && !ListenFilter.isListChange(method)) return false
    const id = Subscription.idIn(metaOf(message))
    if (id === undefined) return false
    const uri = message.params?.["uri"]
    const problem = this.#runtime.exchanges.find(id) === undefined
      ? "no stream of subscriptions/listen with its id is open"
      // A URI that is no text is found by the check of the params.
      : id === this.#current?.id && method === updated.name && typeof uri === "string" && !this.#wanted.has(uri)
      ? "the client has not subscribed to this resource"
      : undefined
    if (problem === undefined) return false
    this.#dependencies.notifications.ignoreNotification(method, problem)
    return true
  }

  /** Reads an acknowledgement of the stream that is being opened. Streams of the program's own are its own matter. */
  #acknowledge(message: JsonRpc.Notification): boolean {
    const opening = this.#opening
    const id = Subscription.idIn(metaOf(message))
    if (opening === undefined || opening.served !== undefined || (id !== undefined && id !== opening.id)) return false
    const params = validate(acknowledged.params)(message.params)
    if (Result.isFailure(params)) return false
    // A server may acknowledge more than was asked for.
    opening.served = ListenFilter.intersection(ListenFilter.decode(params.success.notifications), opening.requested)
    opening.servedAt = this.#runtime.timer.now()
    Deferred.doneUnsafe(opening.acknowledged, Exit.void)
    return true
  }

  // ===================================================================================================================
  // The stream
  // ===================================================================================================================

  /** Starts the fiber that opens and closes streams, unless it runs, or nothing has to be done. */
  #wake(): void {
    if (!this.#isStarted || this.#isEnded || this.#isAdjusting || !this.#needsStream(this.#wanted.filter)) return
    this.#isAdjusting = true
    this.#worker = this.#runtime.fork(Effect.suspend(() => this.#adjust()))
  }

  /** Returns whether the open stream, if there is one, does not fit what is wanted. */
  #needsStream(wanted: ListenFilter.ListenFilter): boolean {
    const { requested = ListenFilter.empty, served = ListenFilter.empty } = this.#current ?? {}
    if (ListenFilter.isWithin(wanted, requested) && ListenFilter.isWithin(served, wanted)) return false
    return this.#refused === undefined || !ListenFilter.isEqual(wanted, this.#refused)
  }

  /** Opens and closes streams until the open one fits what is wanted. */
  #adjust(): Effect.Effect<void> {
    const wanted = this.#wanted.filter
    // A fiber that runs when the session ends is interrupted only when it waits, and it may never wait again.
    if (this.#isEnded || !this.#needsStream(wanted)) {
      // In this step, so that a change of what is wanted finds either this fiber or none.
      this.#isAdjusting = false
      this.#step()
      return Effect.void
    }
    if (ListenFilter.isEmpty(wanted)) {
      this.#lost = undefined
      this.#replace(undefined)
      return Effect.suspend(() => this.#adjust())
    }
    return Effect.flatMap(
      this.#pause(),
      () => Effect.flatMap(Effect.suspend(() => this.#open()), () => this.#adjust())
    )
  }

  /** Waits after a loss. Without it, a server that ends each stream at once would be asked as fast as it answers. */
  #pause(): Effect.Effect<void> {
    if (this.#losses === 0) return Effect.void
    const millis = Math.min(pause.first * 2 ** (this.#losses - 1), pause.longest)
    const passed = this.#runtime.timer.now() - this.#lostAt
    if (passed >= millis) return Effect.void
    this.#isPausing = true
    this.#step()
    // Clients that have lost their streams together do not return together.
    const sleep = Effect.flatMap(
      Random.nextBetween(millis / 2, millis),
      (some) => Effect.sleep(Duration.millis(Math.max(some - passed, 0)))
    )
    return Effect.ensuring(sleep, Effect.sync(() => this.#isPausing = false))
  }

  #open(): Effect.Effect<void> {
    const requested = this.#wanted.filter
    if (ListenFilter.isEmpty(requested)) return Effect.void
    const opening: Opened = {
      id: undefined,
      requested,
      served: undefined,
      acknowledged: Deferred.makeUnsafe(),
      fiber: undefined,
      servedAt: 0,
      isLate: false
    }
    this.#opening = opening
    // Middleware is for calls that end. A stream would occupy its limits and its timeouts.
    const stream = this.#dependencies.sender.exchange(listen, { notifications: ListenFilter.encode(requested) }, {
      timeout: Duration.infinity,
      onOpen: (id) => {
        opening.id = id
        this.#step()
      }
    })
    opening.fiber = this.#runtime.fork(stream)
    opening.fiber.addObserver((exit) => this.#streamEnded(opening, exit))
    const { requestTimeout } = this.#runtime.limits
    return Deferred.await(opening.acknowledged).pipe(
      Effect.timeoutOrElse({
        duration: Duration.millis(requestTimeout),
        orElse: () => Effect.fail(RequestError.make(listen.name, { _tag: "Timeout", afterMillis: requestTimeout }))
      }),
      Effect.matchEager({
        onSuccess: () => this.#serve(opening),
        onFailure: (error) => this.#fail(opening, error)
      }),
      Effect.onInterrupt(() => Effect.sync(() => opening.fiber?.interruptUnsafe()))
    )
  }

  /** Takes the stream that the server has acknowledged. */
  #serve(opened: Opened): void {
    const served = opened.served ?? ListenFilter.empty
    const before = this.#lost
    this.#opening = undefined
    this.#refused = undefined
    this.#lost = undefined
    this.#replace(opened)
    const unserved = [...opened.requested.uris].filter((uri) => !served.uris.has(uri))
    opened.requested = { ...opened.requested, uris: served.uris }
    // The program may have ended subscriptions while the stream was lost.
    const missed = new Set([...before?.uris ?? []].filter((uri) => this.#wanted.has(uri)))
    for (const uri of unserved) {
      const error = RequestError.make(subscribe.name, { _tag: "NotSubscribable", uri })
      this.#wanted.remove(uri)
      this.#wanted.settle(uri, Exit.fail(error))
      if (missed.has(uri)) this.#runtime.emit({ _tag: "NotListening", problem: error.message, isFinal: true })
    }
    for (const uri of served.uris) this.#wanted.settle(uri, Exit.void)
    for (const change of served.changes) {
      if (this.#wanted.wasListed(change) || before?.changes.has(change) === true) this.#deliver(change, {})
    }
    // A resource that is no longer served may be gone, which is a change as well.
    for (const uri of missed) this.#deliver(updated.name, { uri })
    this.#step()
    // The stream may have ended after its acknowledgement, in the same step.
    const exit = opened.fiber?.pollUnsafe()
    if (exit !== undefined) this.#streamEnded(opened, exit)
  }

  /** Ends the attempt to open a stream. An open one remains. */
  #fail(opening: Opened, error: RequestError.RequestError): void {
    this.#opening = undefined
    this.#step()
    opening.fiber?.interruptUnsafe()
    if (this.#isEnded) return
    const isFinal = !isPassing(error)
    if (isFinal) this.#refused = opening.requested
    this.#reportLoss(error, isFinal, this.#losses + 1)
    this.#failWaiting(error.reason)
  }

  /** Handles the end of a stream: by its result, by an error, or by a loss. */
  #streamEnded(opened: Opened, exit: Exit.Exit<unknown, RequestError.RequestError>): void {
    const error = errorOf(exit)
    Deferred.doneUnsafe(opened.acknowledged, Exit.fail(error))
    if (this.#current !== opened) return
    this.#current = undefined
    if (this.#isEnded || "reason" in this.#runtime.state()) return
    this.#lost = opened.served
    const isLongAgo = this.#runtime.timer.now() - opened.servedAt >= pause.longest
    this.#reportLoss(error, false, isLongAgo ? 1 : this.#losses + 1)
    this.#wake()
  }

  #reportLoss({ message }: RequestError.RequestError, isFinal: boolean, losses: number): void {
    this.#losses = losses
    this.#lostAt = this.#runtime.timer.now()
    this.#runtime.emit({ _tag: "NotListening", problem: message, isFinal })
  }

  /** Makes a stream the open one, and then closes the one before. */
  #replace(next: Opened | undefined): void {
    const before = this.#current
    this.#current = next
    before?.fiber?.interruptUnsafe()
  }

  /** Delivers a change that the server did not send. */
  #deliver(method: string, params: JsonRpc.Params): void {
    const message = JsonRpc.notification(method, params)
    this.#dependencies.onMissed(message)
    this.#dependencies.notifications.deliverNotification(message, undefined)
  }

  #failWaiting(reason: RequestError.RequestErrorReason): void {
    this.#wanted.settleAll(Exit.fail(RequestError.make(subscribe.name, reason)))
  }
}

const metaOf = ({ params }: JsonRpc.Notification): { readonly [name: string]: unknown } | undefined => {
  const meta = params?.["_meta"]
  return Predicate.isObject(meta) ? meta : undefined
}

const errorOf = (exit: Exit.Exit<unknown, RequestError.RequestError>): RequestError.RequestError => {
  const found = Exit.isSuccess(exit) ? undefined : Exit.findError(exit)
  return found !== undefined && Result.isSuccess(found)
    ? found.success
    : RequestError.make(listen.name, { _tag: "InvalidResult", problem: "the server has ended the stream" })
}

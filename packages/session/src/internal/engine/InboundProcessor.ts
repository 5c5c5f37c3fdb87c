/** The processing of inbound frames: it passes them to the engine, to pending requests, or to the notifications. */

import { type Handshake, JsonRpc, type MethodDefinition, MethodTable, type Profile } from "@effect-mcp/protocol"
import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import type * as Scope from "effect/Scope"
import type { Limits } from "../../Limits.ts"
import type { Principal } from "../../Principal.ts"
import type { FrameError, Inbound, StreamOrigin } from "../../Transport.ts"
import * as Batch from "./Batch.ts"
import * as Cancellation from "./Cancellation.ts"
import type { Dispatch } from "./Dispatch.ts"
import type { NotificationHandling } from "./NotificationQueue.ts"
import type { PendingRequests } from "./PendingRequests.ts"
import * as ProgressMatcher from "./ProgressMatcher.ts"
import type { RateLimit } from "./RateLimit.ts"
import * as RequestRejections from "./RequestRejections.ts"
import { reject, type ReplySink, type RequestRuntime, RequestServer } from "./RequestServer.ts"
import * as ResponseMatcher from "./ResponseMatcher.ts"
import { everything, type Subscriptions } from "./Subscriptions.ts"
import { validate } from "./validation.ts"
import * as Weight from "./Weight.ts"

/** The session that receives the frames, or the server of one frame without a session. */
export interface InboundRuntime
  extends RequestRuntime, ResponseMatcher.ResponseRuntime, ProgressMatcher.ProgressRuntime
{
  readonly role: MethodDefinition.Role
  state(): { readonly _tag: string }
  /** The pending requests of this side. Absent without a session. */
  readonly exchanges?: Pick<PendingRequests, "classify" | "find" | "followed">
  readonly limits: Limits
  readonly replies: ReplySink & {
    /** Ends a message of this origin, whose frame is rejected without a reply. */
    reject(origin: StreamOrigin | undefined): void
  }
  /** The streams of messages that the program follows. Absent without a session. */
  readonly subscriptions?: Pick<Subscriptions, "publish">
  readonly notifications: {
    /** Queues a notification. Returns `false` if older ones were dropped. */
    offer(notification: NotificationHandling, bytes: number): boolean
  }
  /**
   * Bounds the error replies to malformed frames, so that two peers cannot exchange them without end. Absent for a
   * frame without a session, which has a bounded number of messages and one reply to each.
   */
  readonly malformedReplies?: Pick<RateLimit, "take">
}

/** The side that receives the messages. */
export interface InboundGate<P extends Profile.Profile, R> {
  readonly dispatch: Pick<Dispatch<R | Scope.Scope>, "notify">
  /** Returns the profile of the peer, or `undefined` before the handshake. */
  peer(): P | undefined
  /** Returns the services of the handlers of notifications, and those of one notification. */
  notificationContextOf(profile: P): Context.Context<R>
  /** Serves a request, through the gate of its era. */
  serve(
    requests: RequestServer,
    message: JsonRpc.Request,
    origin: StreamOrigin | undefined,
    bytes: number | undefined,
    principal: Principal | undefined
  ): void
  /** Handles a notification before its handler does. Returns `true` if it goes no further. */
  intercept(message: JsonRpc.Notification, bytes: number | undefined): boolean
  /** Observes a frame that is no message, and answers none. */
  stray?(frame: Inbound["frame"]): void
  /** Returns an error without an id as the response to the one request that it can be about, if there is one. */
  identify?(error: JsonRpc.Response): JsonRpc.Response | undefined
}

const receiveNotification: Handshake.EventOf<"ReceiveNotification"> = { _tag: "ReceiveNotification" }

/**
 * Processes inbound frames. It never suspends: it handles responses, cancellations and progress directly, and passes
 * requests to the engine and notifications to their queue.
 */
export class InboundProcessor<P extends Profile.Profile, R> {
  readonly #runtime: InboundRuntime
  readonly #gate: InboundGate<P, R>
  readonly #requests: RequestServer

  constructor(runtime: InboundRuntime, gate: InboundGate<P, R>) {
    this.#runtime = runtime
    this.#gate = gate
    this.#requests = new RequestServer(runtime)
  }

  /** Processes one frame of the transport. */
  deliver({ bytes, frame, origin, principal }: Inbound): void {
    if (Result.isFailure(frame)) this.#unreadable(frame.failure, origin)
    else this.receive(frame.success, origin, bytes, principal)
  }

  /** Processes one frame that is valid JSON. `acknowledge` ends an answer or a cancellation, in place of its origin. */
  receive(
    frame: unknown,
    origin: StreamOrigin | undefined,
    bytes: number | undefined,
    principal: Principal | undefined,
    classified = JsonRpc.classify(frame),
    acknowledge?: (isTaken: boolean) => void
  ): void {
    switch (classified._tag) {
      case "Request":
        this.#runtime.subscriptions?.publish(everything, classified.message, bytes)
        return this.#gate.serve(this.#requests, classified.message, origin, bytes, principal)
      case "Notification":
        this.#runtime.subscriptions?.publish(everything, classified.message, bytes)
        return this.#notification(classified.message, origin, bytes, acknowledge)
      case "Response":
        return this.#response(classified.message, bytes, acknowledge ?? this.#endingOf(origin))
      case "Batch":
        return this.#batch(classified.frames, origin, bytes, principal)
      case "Malformed":
        if (classified.malformed.meant === undefined && classified.malformed.answers === undefined) {
          this.#gate.stray?.(Result.succeed(frame))
        }
        return this.#notMessage(classified.malformed, origin, bytes, acknowledge)
    }
  }

  /** Cancels the requests of an origin whose stream has no reader left. */
  abandon(origin: StreamOrigin): void {
    Cancellation.abandon(this.#runtime, origin)
  }

  /** Returns whether the session knows the request that a response answers, or that a notification cancels. */
  knows(message: JsonRpc.Response | JsonRpc.Notification): boolean {
    if (!("method" in message)) return ResponseMatcher.isKnown(this.#runtime, message)
    const id = message.params?.["requestId"]
    return (typeof id !== "string" && typeof id !== "number") || this.#runtime.inflight.find(id) !== undefined
  }

  /** Cancels all requests, because the peer has lost its side of the session. */
  abandonAll(): void {
    Cancellation.abandonAll(this.#runtime)
  }

  /** Rejects the largest request in flight, to make room. */
  displaceLargest(): void {
    this.#requests.displaceLargest()
  }

  /** Returns the function that ends a message without a reply. One that is not taken is sent again. */
  #endingOf(origin: StreamOrigin | undefined): (isTaken: boolean) => void {
    const { replies } = this.#runtime
    return (isTaken) => isTaken ? replies.settle(origin) : replies.reject(origin)
  }

  // ===================================================================================================================
  // Frames that are not messages
  // ===================================================================================================================

  /** Replies to an invalid frame with an error, within the limit of such replies per second. */
  #answerMalformed(
    error: JsonRpc.ErrorObject,
    id: JsonRpc.Request["id"] | undefined,
    origin: StreamOrigin | undefined
  ): void {
    const { malformedReplies, replies, timer } = this.#runtime
    if (malformedReplies?.take(timer.now()) === false) return replies.reject(origin)
    replies.reply(RequestRejections.response(error, id, this.#gate.peer()?.revision), origin)
  }

  #unreadable(error: FrameError, origin: StreamOrigin | undefined): void {
    this.#runtime.emit({ _tag: "BadFrame", error })
    this.#gate.stray?.(Result.fail(error))
    // A child process may print a line to stdout by mistake. Its client does not reply to it.
    if (this.#runtime.role === "client") return this.#runtime.replies.settle(origin)
    this.#answerMalformed(RequestRejections.unreadable(problemOf(error)), undefined, origin)
  }

  #malformed(found: JsonRpc.Malformed, origin: StreamOrigin | undefined): void {
    this.#runtime.emit({ _tag: "Malformed", problem: found.problem })
    if (found.answers !== undefined) ResponseMatcher.matchMalformed(this.#runtime, found.answers, found.problem)
    // A line that a child process prints by mistake may be JSON. A client replies only to what is certainly a message.
    const getsReply = found.answerable &&
      (this.#runtime.role === "server" || found.id !== undefined || found.tooLong === true)
    if (!getsReply) return this.#runtime.replies.settle(origin)
    this.#answerMalformed(RequestRejections.malformed(found.problem), found.id, origin)
  }

  #notMessage(
    found: JsonRpc.Malformed,
    origin: StreamOrigin | undefined,
    bytes: number | undefined,
    acknowledge = this.#endingOf(origin)
  ): void {
    const { meant, problem } = found
    if (meant === undefined) this.#malformed(found, origin)
    else this.#tolerate(meant, problem, bytes, acknowledge)
  }

  // ===================================================================================================================
  // Responses
  // ===================================================================================================================

  #response(
    message: JsonRpc.Response,
    bytes: number | undefined,
    acknowledge: (isTaken: boolean) => void
  ): void {
    this.#runtime.subscriptions?.publish(everything, message, bytes)
    const isUnnamed = message.id === undefined || message.id === null
    const identified = (isUnnamed ? this.#gate.identify?.(message) : undefined) ?? message
    ResponseMatcher.match(this.#runtime, identified, acknowledge)
  }

  /** Processes a response that breaks a rule and still has one possible meaning. */
  #tolerate(
    message: JsonRpc.Response,
    problem: string,
    bytes: number | undefined,
    acknowledge: (isTaken: boolean) => void
  ): void {
    this.#runtime.emit({ _tag: "Tolerated", method: ResponseMatcher.methodOf(this.#runtime, message), problem })
    this.#response(message, bytes, acknowledge)
  }

  // ===================================================================================================================
  // Notifications
  // ===================================================================================================================

  #notification(
    message: JsonRpc.Notification,
    origin: StreamOrigin | undefined,
    bytes: number | undefined,
    acknowledge: ((isTaken: boolean) => void) | undefined
  ): void {
    switch (message.method) {
      case "notifications/cancelled":
        return this.#cancellation(message, acknowledge ?? this.#endingOf(origin))
      case "notifications/progress":
        this.#progress(message, bytes)
        break
      default:
        if (!this.#gate.intercept(message, bytes)) this.#handle(message, bytes)
    }
    this.#runtime.replies.settle(origin)
  }

  #notExpected({ method }: JsonRpc.Notification): void {
    this.ignoreNotification(method, `not expected while ${this.#runtime.state()._tag}`)
  }

  /** Reports a notification that has no effect. */
  ignoreNotification(method: string, problem: string): void {
    this.#runtime.emit({ _tag: "NotificationIgnored", method, problem })
  }

  #cancellation(message: JsonRpc.Notification, acknowledge: (isTaken: boolean) => void): void {
    const params = validate(MethodTable.notifications["notifications/cancelled"].params)(message.params ?? {})
    if (Result.isFailure(params)) {
      this.ignoreNotification(message.method, params.failure)
      return acknowledge(true)
    }
    Cancellation.cancel(this.#runtime, params.success.requestId, params.success.reason, acknowledge)
  }

  #progress(message: JsonRpc.Notification, bytes: number | undefined): void {
    const params = validate(MethodTable.notifications["notifications/progress"].params)(message.params ?? {})
    if (Result.isFailure(params)) return this.ignoreNotification(message.method, params.failure)
    ProgressMatcher.match(this.#runtime, params.success, bytes)
  }

  #handle(message: JsonRpc.Notification, bytes: number | undefined): void {
    if (this.#isDelivered()) this.deliverNotification(message, bytes)
    else this.#notExpected(message)
  }

  /** Returns whether a handler receives a notification now. */
  #isDelivered(): boolean {
    const outcome = this.#runtime.apply(receiveNotification)
    if (outcome._tag === "RemoteViolation") return false
    switch (outcome.action) {
      case "Deliver":
        return true
      case "Ignore":
        return false
    }
  }

  /** Delivers a notification to its handler and to the streams that follow it. */
  deliverNotification(message: JsonRpc.Notification, bytes: number | undefined): void {
    const { method } = message
    const profile = this.#gate.peer()
    if (profile === undefined) return this.#notExpected(message)
    const handling = this.#gate.dispatch.notify(message, profile)
    if (Result.isFailure(handling)) return this.ignoreNotification(method, handling.failure)
    const followed = this.#runtime.subscriptions?.publish(method, message.params ?? {}, bytes) === true
    if (handling.success === undefined) {
      if (!followed) this.ignoreNotification(method, "no handler")
      return
    }
    const handled = Effect.provideContext(Effect.scoped(handling.success), this.#gate.notificationContextOf(profile))
    const contained = Effect.catchCause(handled, (cause) => {
      this.#runtime.emit({ _tag: "HandlerFailed", method, cause })
      return Effect.logError(`the handler of ${method} failed`, cause)
    })
    if (!this.#runtime.notifications.offer({ method, handle: contained }, Weight.received(message, bytes))) {
      this.ignoreNotification(method, "the queue for handlers is full; its oldest notifications were dropped")
    }
  }

  // ===================================================================================================================
  // Batches
  // ===================================================================================================================

  #batch(
    frames: ReadonlyArray<unknown>,
    origin: StreamOrigin | undefined,
    bytes: number | undefined,
    principal: Principal | undefined
  ): void {
    const opened = Batch.open(frames.length, origin, this.#gate.peer()?.revision, this.#runtime.limits)
    if (Result.isFailure(opened)) return this.#rejectBatch(opened.failure, frames, origin, bytes)
    if (frames.some((frame) => this.#isStoredFirst(JsonRpc.classify(frame)))) {
      return this.#storeFirst(frames, opened.success, bytes, principal)
    }
    for (const frame of frames) this.receive(frame, opened.success, bytes, principal)
  }

  /** Returns whether a message is stored before it is acknowledged: an answer to a question, or a cancellation. */
  #isStoredFirst(classified: JsonRpc.Classified): boolean {
    const answer = answerIn(classified)
    if (answer !== undefined) return ResponseMatcher.isStoredFirst(this.#runtime, answer)
    if (classified._tag !== "Notification" || classified.message.method !== "notifications/cancelled") return false
    const id = classified.message.params?.["requestId"]
    return (typeof id === "string" || typeof id === "number") &&
      this.#runtime.inflight.find(id)?.storeCancellation !== undefined
  }

  /**
   * Processes a batch whose answers or cancellations are stored. If the store fails, nothing else of the batch is
   * carried out, and each of its requests fails: its sender has to send the whole batch again.
   */
  #storeFirst(
    frames: ReadonlyArray<unknown>,
    batch: Batch.Batch,
    bytes: number | undefined,
    principal: Principal | undefined
  ): void {
    const messages = frames.map((frame) => {
      const classified = JsonRpc.classify(frame)
      return { frame, classified, isStoredFirst: this.#isStoredFirst(classified) }
    })
    const stored = messages.filter(({ isStoredFirst }) => isStoredFirst)
    const end = this.#endingOf(batch)
    let left = stored.length
    let isStored = true
    const acknowledge = (isTaken: boolean) => {
      isStored &&= isTaken
      if (--left > 0) return
      for (const { classified, frame, isStoredFirst } of messages) {
        if (isStoredFirst) end(isStored)
        else if (isStored) this.receive(frame, batch, bytes, principal, classified)
        else if (classified._tag !== "Request") end(true)
        else reject(this.#runtime, classified.message, RequestRejections.batchNotStored, batch)
      }
    }
    for (const { classified, frame } of stored) this.receive(frame, batch, bytes, principal, classified, acknowledge)
  }

  /** Rejects a batch, unless it contains one response only: some peers send each response as a batch of one. */
  #rejectBatch(
    why: JsonRpc.Malformed,
    frames: ReadonlyArray<unknown>,
    origin: StreamOrigin | undefined,
    bytes: number | undefined
  ): void {
    const [only] = frames
    if (frames.length > 1 || Array.isArray(only) || Batch.isBatch(origin)) return this.#malformed(why, origin)
    const classified = JsonRpc.classify(only)
    if (classified._tag === "Response") {
      return this.#tolerate(classified.message, why.problem, bytes, this.#endingOf(origin))
    }
    if (classified._tag !== "Malformed" || classified.malformed.answers === undefined) {
      return this.#malformed(why, origin)
    }
    this.#notMessage(classified.malformed, origin, bytes)
  }
}

/** Returns the response that a message is, or that it has as its one possible meaning. */
const answerIn = (classified: JsonRpc.Classified): JsonRpc.Response | undefined => {
  switch (classified._tag) {
    case "Response":
      return classified.message
    case "Malformed":
      return classified.malformed.meant
    default:
      return undefined
  }
}

const problemOf = (error: FrameError): string => {
  switch (error._tag) {
    case "TooLarge":
      return `Message of more than ${error.limitBytes} bytes`
    case "TooComplex":
      return `Message of ${error.nodes} arrays, objects and members (8 for an integer beyond 2^53); ` +
        `the limit is ${error.limitNodes}`
    case "NotJson":
      return "Parse error"
  }
}

import {
  type Handshake,
  JsonRpc,
  type MethodDefinition,
  MethodTable,
  type Profile,
  type RequestId
} from "@effect-mcp/protocol"
import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import type * as Scope from "effect/Scope"
import type { Dispatch } from "../../Dispatch.ts"
import type { Principal } from "../../Principal.ts"
import type { FrameError, Inbound, StreamOrigin } from "../../Transport.ts"
import * as SlidingBuffer from "../collections/SlidingBuffer.ts"
import { trust } from "../trust.ts"
import * as Batch from "./Batch.ts"
import * as HandlerFiber from "./HandlerFiber.ts"
import * as IncomingRequests from "./IncomingRequests.ts"
import * as PendingRequests from "./PendingRequests.ts"
import { RateLimit } from "./RateLimit.ts"
import * as RequestRejections from "./RequestRejections.ts"
import type { Sender } from "./Sender.ts"
import type { Reader as CoreReader, SessionRuntime, State } from "./SessionRuntime.ts"
import { everything } from "./Subscriptions.ts"
import { validate } from "./validation.ts"
import * as Weight from "./Weight.ts"

/**
 * What a reader has to know beyond the core.
 */
export interface Parts<P extends Profile.Profile, R> {
  readonly sender: Sender
  readonly dispatch: Dispatch<R | Scope.Scope>
  /** What is known of the peer, once it is. */
  readonly peer: () => P | undefined
  /** Adds to the session's services what a handler sees of its request. */
  readonly contextOf: (served: IncomingRequests.Served, request: JsonRpc.Request, profile: P) => Context.Context<R>
  /** Takes a message that only one side understands; `false` when it is none of that kind. */
  readonly intercept: (
    message: JsonRpc.Request | JsonRpc.Notification,
    origin: StreamOrigin | undefined
  ) => boolean
}

/** A log message that came before the session was established, and the bytes it came in. */
interface Kept {
  readonly message: JsonRpc.Notification
  readonly bytes: number | undefined
}

/**
 * The number and the memory of log messages that a session keeps until it is established. Few servers log much so
 * early.
 */
const keptBounds = { capacity: 256, bytes: 1_048_576 }

const receiveLog: Handshake.Event = { _tag: "ReceiveLog" }
const receiveNotification: Handshake.Event = { _tag: "ReceiveNotification" }

/**
 * What comes in. The reader never suspends: responses, cancellations, progress and pings are dealt with on the spot, a
 * request gets a fiber, a notification a place in the queue. What it completes may run programs of the user's at once, so
 * every table is changed before anything is woken.
 */
export class InboundProcessor<S extends State, P extends Profile.Profile, R> implements CoreReader {
  readonly #core: SessionRuntime<S>
  readonly #parts: Parts<P, R>
  #complaints: RateLimit | undefined
  #warnings: RateLimit | undefined
  #kept: SlidingBuffer.SlidingBuffer<Kept> | undefined

  constructor(core: SessionRuntime<S>, parts: Parts<P, R>) {
    this.#core = core
    this.#parts = parts
  }

  deliver({ bytes, frame, origin, principal }: Inbound): void {
    if (Result.isFailure(frame)) this.#badFrame(frame.failure, origin)
    else this.#receive(frame.success, origin, bytes, principal)
  }

  #refuse(request: JsonRpc.Request, error: JsonRpc.ErrorObject, origin: StreamOrigin | undefined): void {
    this.#core.emit({ _tag: "Refused", method: request.method, id: request.id, code: error.code })
    this.#core.replies.reply(JsonRpc.failure(request.id, error), origin)
  }

  // ===================================================================================================================
  // Frames that are no messages
  // ===================================================================================================================

  /** Answers what cannot be read, but never so often that two peers could keep each other busy with it. */
  #complain(
    error: () => JsonRpc.ErrorObject,
    id: JsonRpc.Request["id"] | undefined,
    origin: StreamOrigin | undefined
  ): void {
    this.#complaints ??= new RateLimit(this.#core.limits.maxMalformedRepliesPerSecond)
    if (!this.#complaints.take(this.#core.timer.now())) return this.#core.replies.reject(origin)
    this.#core.replies.reply(RequestRejections.response(error(), id, this.#parts.peer()?.revision), origin)
  }

  #badFrame(error: FrameError, origin: StreamOrigin | undefined): void {
    this.#core.emit({ _tag: "BadFrame", error })
    // A child's stray line on stdout is not for us to answer; a client's is.
    if (this.#core.role === "client") return this.#core.replies.settle(origin)
    this.#complain(() => RequestRejections.unreadable(problemOf(error)), undefined, origin)
  }

  #malformed(found: JsonRpc.Malformed, origin: StreamOrigin | undefined): void {
    this.#core.emit({ _tag: "Malformed", problem: found.problem })
    if (found.answers !== undefined) this.#answeredMalformed(found.answers, found.problem)
    // A line that a child prints by mistake may be JSON. A client answers only what was certainly meant for it.
    const answer = found.answerable &&
      (this.#core.role === "server" || found.id !== undefined || found.tooLong === true)
    if (!answer) return this.#core.replies.settle(origin)
    this.#complain(() => RequestRejections.malformed(found.problem), found.id, origin)
  }

  #notMessage(found: JsonRpc.Malformed, origin: StreamOrigin | undefined, bytes: number | undefined): void {
    const { meant, problem } = found
    if (meant === undefined) this.#malformed(found, origin)
    else this.#meant(meant, problem, origin, bytes)
  }

  // ===================================================================================================================
  // Responses
  // ===================================================================================================================

  #response(message: JsonRpc.Response): void {
    const unmatched = (kind: "Late" | "Duplicate" | "Unknown" | "NoId") => {
      this.#core.emit({ _tag: "UnmatchedResponse", kind, response: message })
      // The others are of requests that were made, and belong to what may happen.
      if (kind !== "Unknown") return
      this.#warnings ??= new RateLimit(this.#core.limits.maxMalformedRepliesPerSecond)
      if (this.#warnings.take(this.#core.timer.now())) {
        this.#core.fork(Effect.logWarning("a response to no request of this session", { id: message.id }))
      }
    }
    const outcome = this.#core.happen({ _tag: "ReceiveResponse" })
    if (outcome._tag !== "Moved" || outcome.action !== "Match") return unmatched("Unknown")
    if (message.id === undefined || message.id === null) return unmatched("NoId")
    const exchange = this.#core.exchanges.find(message.id)
    if (exchange === undefined) return unmatched(this.#core.exchanges.classify(message.id))
    // It was not sent yet, so this cannot be its response.
    if (!exchange.handed) return unmatched("Unknown")
    if (!PendingRequests.complete(exchange, message)) unmatched(exchange.outcome === "Answered" ? "Duplicate" : "Late")
  }

  /** Reads a response that breaks a rule, and leaves no doubt about what it means. */
  #meant(
    message: JsonRpc.Response,
    problem: string,
    origin: StreamOrigin | undefined,
    bytes: number | undefined
  ): void {
    const exchange = message.id === undefined || message.id === null
      ? undefined
      : this.#core.exchanges.find(message.id)
    this.#core.emit({ _tag: "Tolerated", method: exchange?.method, problem })
    this.#core.subscriptions.publish(everything, message, bytes)
    this.#response(message)
    this.#core.replies.settle(origin)
  }

  /** The peer has answered, with what is no response: without this, the caller would wait until its deadline. */
  #answeredMalformed(id: RequestId.RequestId, problem: string): void {
    const outcome = this.#core.happen({ _tag: "ReceiveResponse" })
    if (outcome._tag !== "Moved" || outcome.action !== "Match") return
    const exchange = this.#core.exchanges.find(id)
    if (exchange?.handed === true) PendingRequests.completeMalformed(exchange, problem)
  }

  // ===================================================================================================================
  // Requests
  // ===================================================================================================================

  #request(
    message: JsonRpc.Request,
    origin: StreamOrigin | undefined,
    bytes: number | undefined,
    principal: Principal | undefined
  ): void {
    if (message.method === "ping") {
      if (this.#core.inflight.isTaken(message.id)) return this.#refuse(message, RequestRejections.duplicate, origin)
      const params = validate(MethodTable.requests.ping.params)(message.params ?? {})
      if (Result.isFailure(params)) {
        return this.#refuse(message, RequestRejections.invalidParams(params.failure), origin)
      }
      const outcome = this.#core.happen({ _tag: "ReceivePing" })
      return outcome._tag === "Moved" && outcome.action === "Answer"
        ? this.#core.replies.reply(JsonRpc.success(message.id, {}), origin)
        : this.#refuse(message, notReady(this.#core.role, this.#core.state()._tag), origin)
    }
    if (this.#parts.intercept(message, origin)) return
    const outcome = this.#core.happen({ _tag: "ReceiveRequest" })
    const action = outcome._tag === "Moved" ? outcome.action : "Reject"
    if (action === "ReleaseAndDeliver") this.#parts.sender.release()
    const peer = this.#parts.peer()
    if ((action !== "Deliver" && action !== "ReleaseAndDeliver") || peer === undefined) {
      return this.#refuse(message, notReady(this.#core.role, this.#core.state()._tag), origin)
    }
    this.#serve(message, peer, origin, bytes, principal)
  }

  #serve(
    message: JsonRpc.Request,
    peer: P,
    origin: StreamOrigin | undefined,
    bytes: number | undefined,
    principal: Principal | undefined
  ): void {
    // An id in flight is an id in flight, whatever is asked under it.
    if (this.#core.inflight.isTaken(message.id)) return this.#refuse(message, RequestRejections.duplicate, origin)
    const prepared = this.#parts.dispatch.prepare(message, peer)
    if (Result.isFailure(prepared)) return this.#refuse(message, prepared.failure, origin)
    const served = IncomingRequests.entry(message, { origin, bytes: Weight.received(message, bytes), principal })
    const full = this.#core.inflight.open(served)
    if (full !== undefined) return this.#refuse(message, RequestRejections.overloaded(full), origin)
    const fiber = HandlerFiber.start(
      prepared.success,
      this.#parts.contextOf(served, message, peer),
      this.#core,
      (ending) => this.#finish(served, ending)
    )
    served.fiber = fiber
    // It may have been cancelled by something that it sent itself, before there was a fiber to interrupt.
    if (served.ended) fiber.interruptUnsafe()
  }

  #finish(served: IncomingRequests.Served, ending: HandlerFiber.Ending): void {
    const claimed = this.#core.inflight.answer(served)
    served.ended = true
    const cause = HandlerFiber.failureOf(ending, claimed)
    if (cause !== undefined) {
      this.#core.emit({ _tag: "HandlerFailed", method: served.method, cause })
      this.#core.fork(Effect.logError(`the handler of ${served.method} failed`, cause))
    }
    if (!claimed) return this.#core.inflight.release(served)
    // It counts as in flight until its reply is on its way, so that a peer which takes none cannot go on asking.
    HandlerFiber.handOver(served, this.#core, () =>
      this.#core.replies.reply(
        HandlerFiber.response(served.id, ending),
        served.origin,
        () => this.#core.inflight.release(served)
      ))
  }

  // ===================================================================================================================
  // Notifications
  // ===================================================================================================================

  #notification(message: JsonRpc.Notification, origin: StreamOrigin | undefined, bytes: number | undefined): void {
    switch (message.method) {
      case "notifications/cancelled":
        this.#cancelled(message)
        break
      case "notifications/progress":
        this.#progress(message, bytes)
        break
      default:
        if (!this.#parts.intercept(message, origin)) this.#handle(message, bytes)
    }
    this.#core.replies.settle(origin)
  }

  #ignored(method: string, problem: string): void {
    this.#core.emit({ _tag: "NotificationIgnored", method, problem })
  }

  #cancelled(message: JsonRpc.Notification): void {
    const params = validate(MethodTable.notifications["notifications/cancelled"].params)(message.params ?? {})
    if (Result.isFailure(params)) return this.#ignored(message.method, params.failure)
    const { reason, requestId } = params.success
    const served = requestId === undefined ? undefined : this.#core.inflight.find(requestId)
    if (served === undefined || !this.#core.inflight.claim(served)) {
      return this.#core.emit({ _tag: "CancelIgnored", id: requestId })
    }
    this.#core.emit({ _tag: "Cancelled", method: served.method, id: served.id, reason })
    IncomingRequests.interrupt(served)
    this.#core.replies.settle(served.origin)
  }

  #progress(message: JsonRpc.Notification, bytes: number | undefined): void {
    const params = validate(MethodTable.notifications["notifications/progress"].params)(message.params ?? {})
    if (Result.isFailure(params)) return this.#ignored(message.method, params.failure)
    // The progress token of a request of this side is its id.
    const exchange = this.#core.exchanges.find(params.success.progressToken)
    if (exchange?.progress === undefined || exchange.outcome !== "Pending") {
      return this.#core.emit({ _tag: "ProgressDropped", reason: "UnknownToken" })
    }
    const taken = exchange.progress.offer(params.success, bytes)
    if (exchange.extendsTo !== undefined && taken !== "NotIncreasing") {
      exchange.deadline = Math.min(this.#core.timer.now() + exchange.allowedMillis, exchange.extendsTo)
    }
    if (taken !== "Taken") this.#core.emit({ _tag: "ProgressDropped", reason: taken })
  }

  #handle(message: JsonRpc.Notification, bytes: number | undefined): void {
    const isLog = this.#core.role === "client" && message.method === "notifications/message"
    const outcome = this.#core.happen(isLog ? receiveLog : receiveNotification)
    if (outcome._tag === "Moved" && outcome.action === "Keep") return this.#keep(message, bytes)
    const peer = this.#parts.peer()
    if (outcome._tag !== "Moved" || outcome.action !== "Deliver" || peer === undefined) {
      return this.#ignored(message.method, `not expected while ${this.#core.state()._tag}`)
    }
    const handling = this.#parts.dispatch.notify(message, peer)
    if (Result.isFailure(handling)) return this.#ignored(message.method, handling.failure)
    const followed = this.#core.subscriptions.publish(message.method, message.params ?? {}, bytes)
    if (handling.success === undefined) {
      if (!followed) this.#ignored(message.method, "no handler")
      return
    }
    // The handlers' services were captured with the session's context when it was made.
    const services = trust<Context.Context<R>>(this.#core.context)
    const handled = Effect.provideContext(Effect.scoped(handling.success), services)
    const contained = Effect.catchCause(handled, (cause) => {
      this.#core.emit({ _tag: "HandlerFailed", method: message.method, cause })
      return Effect.logError(`the handler of ${message.method} failed`, cause)
    })
    if (
      !this.#core.notifications.offer({ method: message.method, handle: contained }, Weight.received(message, bytes))
    ) {
      this.#ignored(message.method, "the handlers lag behind; the oldest was dropped")
    }
  }

  #keep(message: JsonRpc.Notification, bytes: number | undefined): void {
    this.#kept ??= SlidingBuffer.make({ ...keptBounds, budget: this.#core.budget })
    if (this.#kept.offer({ message, bytes }, Weight.received(message, bytes))) return
    this.#ignored(message.method, "too many came before the answer to initialize; the oldest was dropped")
  }

  /** Delivers the log messages that came before the session was established. */
  deliverKept(): void {
    const kept = this.#kept
    this.#kept = undefined
    for (let next = kept?.shift(); next !== undefined; next = kept?.shift()) {
      kept?.release(next)
      this.#handle(next.item.message, next.item.bytes)
    }
  }

  /** Drops these log messages: the session ends. */
  dropKept(): void {
    const kept = this.#kept
    this.#kept = undefined
    for (let next = kept?.shift(); next !== undefined; next = kept?.shift()) {
      kept?.release(next)
      this.#ignored(next.item.message.method, "the session closed before the answer to initialize")
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
    const opened = Batch.open(frames.length, origin, this.#parts.peer()?.revision, this.#core.limits)
    if (Result.isFailure(opened)) return this.#noBatch(opened.failure, frames, origin, bytes)
    for (const frame of frames) this.#receive(frame, opened.success, bytes, principal)
  }

  /** Some peers put each answer into a list of one. */
  #noBatch(
    why: JsonRpc.Malformed,
    frames: ReadonlyArray<unknown>,
    origin: StreamOrigin | undefined,
    bytes: number | undefined
  ): void {
    const [only] = frames
    if (frames.length > 1 || Array.isArray(only) || origin instanceof Batch.Batch) return this.#malformed(why, origin)
    const classified = JsonRpc.classify(only)
    if (classified._tag === "Response") return this.#meant(classified.message, why.problem, origin, bytes)
    if (classified._tag !== "Malformed" || classified.malformed.answers === undefined) {
      return this.#malformed(why, origin)
    }
    this.#notMessage(classified.malformed, origin, bytes)
  }

  #receive(
    frame: unknown,
    origin: StreamOrigin | undefined,
    bytes: number | undefined,
    principal: Principal | undefined
  ): void {
    const classified = JsonRpc.classify(frame)
    switch (classified._tag) {
      case "Request":
        this.#core.subscriptions.publish(everything, classified.message, bytes)
        return this.#request(classified.message, origin, bytes, principal)
      case "Notification":
        this.#core.subscriptions.publish(everything, classified.message, bytes)
        return this.#notification(classified.message, origin, bytes)
      case "Response":
        this.#core.subscriptions.publish(everything, classified.message, bytes)
        this.#response(classified.message)
        return this.#core.replies.settle(origin)
      case "Batch":
        return this.#batch(classified.frames, origin, bytes, principal)
      case "Malformed":
        return this.#notMessage(classified.malformed, origin, bytes)
    }
  }

  // ===================================================================================================================
  // Origins that nobody is left at
  // ===================================================================================================================

  abandon(origin: StreamOrigin): void {
    for (const served of this.#core.inflight.all()) {
      const from = served.origin instanceof Batch.Batch ? served.origin.origin : served.origin
      if (from !== origin || !this.#core.inflight.claim(served)) continue
      this.#core.emit({ _tag: "Abandoned", method: served.method, id: served.id })
      IncomingRequests.interrupt(served)
      this.#core.replies.settle(served.origin)
    }
  }
}

const notReady = (role: MethodDefinition.Role, state: string) =>
  RequestRejections.invalidRequest(
    state === "Closing"
      ? "The session is closing"
      : role === "server"
      ? "Server not initialized"
      : "Client not initialized"
  )

const problemOf = (error: FrameError): string => {
  switch (error._tag) {
    case "TooLarge":
      return `Message larger than ${error.limitBytes} bytes`
    case "TooComplex":
      return `Message of ${error.nodes} arrays, objects and members; the limit is ${error.limitNodes}`
    case "NotJson":
      return "Parse error"
  }
}

import { ErrorCode, JsonRpc, McpError, Methods, type Profile, Revision } from "@effect-mcp/protocol"
import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import type * as Scope from "effect/Scope"
import type { Dispatch } from "../Dispatch.ts"
import type { Principal } from "../Principal.ts"
import type { FrameError, Origin } from "../Transport.ts"
import { Batch } from "./Batch.ts"
import type { Core, Reader, State } from "./Core.ts"
import * as Exchanges from "./Exchanges.ts"
import * as Handling from "./Handling.ts"
import * as Inflight from "./Inflight.ts"
import * as RateLimit from "./RateLimit.ts"
import * as Refusal from "./Refusal.ts"
import type { Sender } from "./Sender.ts"
import { everything } from "./Subscriptions.ts"
import { trust } from "./trust.ts"
import { validate } from "./validation.ts"

/**
 * What a reader has to know beyond the core.
 */
export interface Parts<P extends Profile.Profile, R> {
  readonly sender: Sender
  readonly dispatch: Dispatch<R | Scope.Scope>
  /** What is known of the peer, once it is. */
  readonly profile: () => P | undefined
  /** Adds to the session's services what a handler sees of its request. */
  readonly contextOf: (served: Inflight.Served, request: JsonRpc.Request, profile: P) => Context.Context<R>
  /** Takes a message that only one side understands; `false` when it is none of that kind. */
  readonly intercept: (
    message: JsonRpc.Request | JsonRpc.Notification,
    origin: Origin | undefined
  ) => boolean
}

/**
 * What comes in. The reader never suspends: responses, cancellations, progress and pings are dealt with on the spot, a
 * request gets a fiber, a notification a place in the queue. What it completes may run programs of the user's at once, so
 * every table is changed before anything is woken.
 */
export const make = <S extends State, P extends Profile.Profile, R>(
  core: Core<S>,
  parts: Parts<P, R>
): Reader => {
  const { dispatch, profile, sender } = parts
  const { emit, exchanges, inflight, replies, subscriptions } = core
  // The handlers' services were captured with the session's context when it was made.
  const services = trust<Context.Context<R>>(core.context)

  const refuse = (request: JsonRpc.Request, error: McpError.McpError, origin: Origin | undefined) => {
    emit({ _tag: "Refused", method: request.method, id: request.id, code: error.code })
    replies.reply(JsonRpc.failure(request.id, error), origin)
  }

  // ===================================================================================================================
  // Frames that are no messages
  // ===================================================================================================================

  const complaints = RateLimit.make(core.limits.malformedReplies, core.timer.now)

  /** Answers what cannot be read, but never so often that two peers could keep each other busy with it. */
  const complain = (error: McpError.McpError, id: JsonRpc.Request["id"] | undefined, origin: Origin | undefined) => {
    if (!complaints.take()) return replies.settle(origin)
    replies.reply(Refusal.response(error, id, profile()?.revision), origin)
  }

  const badFrame = (error: FrameError, origin: Origin | undefined) => {
    emit({ _tag: "BadFrame", error })
    // A child's stray line on stdout is not for us to answer; a client's is.
    if (core.role === "client") return replies.settle(origin)
    const problem = error._tag === "TooLarge"
      ? `Message larger than ${error.limitBytes} bytes`
      : "Parse error"
    complain(new McpError.McpError({ code: ErrorCode.ParseError, message: problem }), undefined, origin)
  }

  const malformed = (found: JsonRpc.Malformed, origin: Origin | undefined) => {
    emit({ _tag: "Malformed", problem: found.problem })
    const answer = found.answerable && (core.role === "server" || found.id !== undefined)
    if (!answer) return replies.settle(origin)
    complain(Refusal.malformed(found.problem), found.id, origin)
  }

  // ===================================================================================================================
  // Responses
  // ===================================================================================================================

  const warnings = RateLimit.make(core.limits.malformedReplies, core.timer.now)

  const response = (message: JsonRpc.Response, bytes: number) => {
    const unmatched = (kind: "Late" | "Duplicate" | "Unknown" | "NoId") => {
      emit({ _tag: "UnmatchedResponse", kind, response: message }, bytes)
      // The others are of requests that were made, and belong to what may happen.
      if (kind === "Unknown" && warnings.take()) {
        core.fork(Effect.logWarning("a response to no request of this session", { id: message.id }))
      }
    }
    const outcome = core.happen({ _tag: "ReceiveResponse" })
    if (outcome._tag !== "Moved" || outcome.does !== "Match") return unmatched("Unknown")
    if (message.id === undefined || message.id === null) return unmatched("NoId")
    const exchange = exchanges.find(message.id)
    if (exchange === undefined) return unmatched(exchanges.recall(message.id))
    // It was not sent yet, so this cannot be its response.
    if (!exchange.handed) return unmatched("Unknown")
    if (!Exchanges.answer(exchange, message)) unmatched(exchange.outcome === "Answered" ? "Duplicate" : "Late")
  }

  // ===================================================================================================================
  // Requests
  // ===================================================================================================================

  const notReady = (state: string) =>
    McpError.invalidRequest(
      state === "Closing"
        ? "The session is closing"
        : core.role === "server"
        ? "Server not initialized"
        : "Client not initialized"
    )

  const request = (
    message: JsonRpc.Request,
    origin: Origin | undefined,
    bytes: number,
    principal: Principal | undefined
  ) => {
    if (message.method === "ping") {
      if (inflight.isTaken(message.id)) return refuse(message, Refusal.duplicate, origin)
      const params = validate(Methods.requests.ping.params)(message.params ?? {})
      if (Result.isFailure(params)) return refuse(message, McpError.invalidParams(params.failure), origin)
      const outcome = core.happen({ _tag: "ReceivePing" })
      return outcome._tag === "Moved" && outcome.does === "Answer"
        ? replies.reply(JsonRpc.success(message.id, {}), origin)
        : refuse(message, notReady(core.state()._tag), origin)
    }
    if (parts.intercept(message, origin)) return
    const outcome = core.happen({ _tag: "ReceiveRequest" })
    const does = outcome._tag === "Moved" ? outcome.does : "Refuse"
    if (does === "ReleaseAndDeliver") sender.release()
    const peer = profile()
    if ((does !== "Deliver" && does !== "ReleaseAndDeliver") || peer === undefined) {
      return refuse(message, notReady(core.state()._tag), origin)
    }
    serve(message, peer, origin, bytes, principal)
  }

  const serve = (
    message: JsonRpc.Request,
    peer: P,
    origin: Origin | undefined,
    bytes: number,
    principal: Principal | undefined
  ) => {
    // An id in flight is an id in flight, whatever is asked under it.
    if (inflight.isTaken(message.id)) return refuse(message, Refusal.duplicate, origin)
    const prepared = dispatch.prepare(message, peer)
    if (Result.isFailure(prepared)) return refuse(message, prepared.failure, origin)
    const served = Inflight.entry(message, { origin, bytes, principal })
    const full = inflight.open(served)
    if (full !== undefined) return refuse(message, Refusal.overloaded(full), origin)
    served.fiber = Handling.start(
      prepared.success,
      parts.contextOf(served, message, peer),
      core.fork,
      (ending) => finish(served, ending)
    )
    // It may have been cancelled by something that it sent itself, before there was a fiber to interrupt.
    if (served.ended) served.fiber.interruptUnsafe()
  }

  const finish = (served: Inflight.Served, ending: Handling.Ending) => {
    const claimed = inflight.answer(served)
    served.ended = true
    const cause = Handling.failureOf(ending, claimed)
    if (cause !== undefined) {
      emit({ _tag: "HandlerFailed", method: served.method, cause })
      core.fork(Effect.logError(`the handler of ${served.method} failed`, cause))
    }
    if (!claimed) return inflight.release(served)
    // It counts as in flight until its reply is on its way, so that a peer which takes none cannot go on asking.
    replies.reply(Handling.response(served.id, ending), served.origin, () => inflight.release(served))
  }

  // ===================================================================================================================
  // Notifications
  // ===================================================================================================================

  const notification = (message: JsonRpc.Notification, origin: Origin | undefined, bytes: number) => {
    switch (message.method) {
      case "notifications/cancelled":
        cancelled(message)
        break
      case "notifications/progress":
        progress(message, bytes)
        break
      default:
        if (!parts.intercept(message, origin)) deliver(message, bytes)
    }
    replies.settle(origin)
  }

  const ignored = (method: string, problem: string) => emit({ _tag: "NotificationIgnored", method, problem })

  const cancelled = (message: JsonRpc.Notification) => {
    const params = validate(Methods.notifications["notifications/cancelled"].params)(message.params ?? {})
    if (Result.isFailure(params)) return ignored(message.method, params.failure)
    const { reason, requestId } = params.success
    const served = requestId === undefined ? undefined : inflight.find(requestId)
    if (served === undefined || !inflight.claim(served)) return emit({ _tag: "CancelIgnored", id: requestId })
    emit({ _tag: "Cancelled", method: served.method, id: served.id, reason })
    Inflight.interrupt(served)
    replies.settle(served.origin)
  }

  const progress = (message: JsonRpc.Notification, bytes: number) => {
    const params = validate(Methods.notifications["notifications/progress"].params)(message.params ?? {})
    if (Result.isFailure(params)) return ignored(message.method, params.failure)
    const exchange = exchanges.find(params.success.progressToken)
    if (exchange?.progress === undefined || exchange.outcome !== "Pending") {
      return emit({ _tag: "ProgressDropped", reason: "UnknownToken" })
    }
    const taken = exchange.progress.offer(params.success, bytes)
    if (exchange.extendsTo !== undefined && taken !== "NotIncreasing") {
      exchange.deadline = Math.min(core.timer.now() + exchange.allowedMillis, exchange.extendsTo)
    }
    if (taken !== "Taken") emit({ _tag: "ProgressDropped", reason: taken })
  }

  const deliver = (message: JsonRpc.Notification, bytes: number) => {
    const outcome = core.happen({ _tag: "ReceiveNotification" })
    const peer = profile()
    if (outcome._tag !== "Moved" || outcome.does !== "Deliver" || peer === undefined) {
      return ignored(message.method, `not expected while ${core.state()._tag}`)
    }
    const handling = dispatch.notify(message, peer)
    if (Result.isFailure(handling)) return ignored(message.method, handling.failure)
    const followed = subscriptions.publish(message.method, message.params ?? {}, bytes)
    if (handling.success === undefined) {
      if (!followed) ignored(message.method, "no handler")
      return
    }
    const handled = Effect.provideContext(Effect.scoped(handling.success), services)
    const contained = Effect.catchCause(handled, (cause) => {
      emit({ _tag: "HandlerFailed", method: message.method, cause })
      return Effect.logError(`the handler of ${message.method} failed`, cause)
    })
    if (!core.notifications.offer({ method: message.method, handle: contained }, bytes)) {
      ignored(message.method, "the handlers lag behind; the oldest was dropped")
    }
  }

  // ===================================================================================================================
  // Batches
  // ===================================================================================================================

  const batch = (
    frames: ReadonlyArray<unknown>,
    origin: Origin | undefined,
    bytes: number,
    principal: Principal | undefined
  ) => {
    const revision = profile()?.revision
    // A session has no handshake in a batch, since without one there is no revision that has batches (MSG-16).
    if (origin instanceof Batch || revision === undefined || !Revision.envelopes[revision].batches) {
      return malformed(Refusal.noBatch, origin)
    }
    const together = new Batch(frames.length, origin)
    for (const frame of frames) receive(frame, together, bytes / frames.length, principal)
  }

  const receive = (
    frame: unknown,
    origin: Origin | undefined,
    bytes: number,
    principal: Principal | undefined
  ): void => {
    const classified = JsonRpc.classify(frame)
    switch (classified._tag) {
      case "Request":
        subscriptions.publish(everything, classified.message, bytes)
        return request(classified.message, origin, bytes, principal)
      case "Notification":
        subscriptions.publish(everything, classified.message, bytes)
        return notification(classified.message, origin, bytes)
      case "Response":
        subscriptions.publish(everything, classified.message, bytes)
        response(classified.message, bytes)
        return replies.settle(origin)
      case "Batch":
        return batch(classified.frames, origin, bytes, principal)
      case "Malformed":
        return malformed(classified.malformed, origin)
    }
  }

  // ===================================================================================================================
  // Origins that nobody is left at
  // ===================================================================================================================

  const abandon = (origin: Origin) => {
    for (const served of inflight.all()) {
      const from = served.origin instanceof Batch ? served.origin.origin : served.origin
      if (from !== origin || !inflight.claim(served)) continue
      emit({ _tag: "Abandoned", method: served.method, id: served.id })
      Inflight.interrupt(served)
      replies.settle(served.origin)
    }
  }

  return {
    deliver: ({ bytes = 0, frame, origin, principal }) =>
      Result.isFailure(frame) ? badFrame(frame.failure, origin) : receive(frame.success, origin, bytes, principal),
    abandon
  }
}

/** The engine that serves the peer's requests: one reply to each, and none to a request that was cancelled (law 5). */

import { type CloseReason, JsonRpc, McpError, type Profile } from "@effect-mcp/protocol"
import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type * as Fiber from "effect/Fiber"
import * as Result from "effect/Result"
import type * as Scope from "effect/Scope"
import type { Principal } from "../../Principal.ts"
import type { SessionEvent } from "../../SessionEvent.ts"
import type { StreamOrigin } from "../../Transport.ts"
import * as Cancellation from "./Cancellation.ts"
import type { Prepared } from "./Dispatch.ts"
import * as HandlerFiber from "./HandlerFiber.ts"
import * as IncomingRequests from "./IncomingRequests.ts"
import * as RequestRejections from "./RequestRejections.ts"
import * as RequestTarget from "./RequestTarget.ts"
import * as Weight from "./Weight.ts"

/** The two ends of a request on the wire: a reply, or none. */
export interface ReplySink {
  /**
   * Sends a reply without waiting. Calls `handed` when the transport has received it, or when sending has failed: then
   * with `true`.
   */
  reply(response: JsonRpc.Response, origin: StreamOrigin | undefined, handed?: (isLost: boolean) => void): void
  /** Ends a message of this origin without a reply. */
  settle(origin: StreamOrigin | undefined): void
}

/** The session, or the frame without one, whose requests the engine serves. */
export interface RequestRuntime {
  readonly inflight: IncomingRequests.IncomingRequests
  readonly replies: Pick<ReplySink, "reply">
  /** Returns the state of the session; one that ends has a reason. Absent without a session. */
  state?(): { readonly _tag: string; readonly reason?: CloseReason.CloseReason }
  emit(event: SessionEvent): void
  fork<A, E>(effect: Effect.Effect<A, E>): Fiber.Fiber<A, E>
}

/**
 * The gate in front of the engine. It decides whether a request reaches a handler, for which peer, and in which form
 * the reply is sent. A session with a handshake has one gate, and a request without a handshake has a gate of its own.
 */
export interface RequestGate<P extends Profile.Profile, R> {
  /** Sends the replies in the form of the peer's revision. */
  readonly replies: Pick<ReplySink, "reply">
  /** Returns the peer for which a request is served. `undefined` if the gate has answered, rejected or dropped it. */
  admit(message: JsonRpc.Request, origin: StreamOrigin | undefined): P | undefined
  /** Returns the error of a request that its sender may not send. Absent if every sender may send every request. */
  permit?(message: JsonRpc.Request, principal: Principal | undefined): JsonRpc.ErrorObject | undefined
  /** Returns the program that serves a request. */
  prepare(message: JsonRpc.Request, profile: P): Prepared<R | Scope.Scope>
  /** Returns the services of the handlers, and those of one request. */
  contextOf(request: IncomingRequests.IncomingRequest, message: JsonRpc.Request, profile: P): Context.Context<R>
}

/** Rejects a request with an error. */
export const reject = (
  runtime: Pick<RequestRuntime, "emit" | "replies">,
  { id, method }: Pick<JsonRpc.Request, "id" | "method">,
  error: JsonRpc.ErrorObject,
  origin: StreamOrigin | undefined,
  replies: Pick<ReplySink, "reply"> = runtime.replies
): void => {
  runtime.emit({ _tag: "Rejected", method, id, code: error.code })
  replies.reply(JsonRpc.failure(id, error), origin)
}

const ended = McpError.outcomeUnknown("The process that served this request has shut down")

/**
 * Serves requests in the same steps: admit, prepare, start, finish. A cancellation, an abandoned stream and a lack of
 * memory end a request earlier. Each end first claims the request, so that only one of them acts. The
 * first two are in `Cancellation.ts`, which also drops the reply of a handler if another end has claimed its request.
 *
 * No step suspends. Every table is changed before a fiber is started or woken, because that may run code of the program
 * at once.
 */
export class RequestServer {
  readonly #runtime: RequestRuntime

  constructor(runtime: RequestRuntime) {
    this.#runtime = runtime
  }

  /**
   * Serves a request, if its gate admits it: checks it, reserves its id and its share of the capacity, and starts its
   * handler.
   */
  serve<P extends Profile.Profile, R>(
    gate: RequestGate<P, R>,
    message: JsonRpc.Request,
    origin: StreamOrigin | undefined,
    bytes: number | undefined,
    principal: Principal | undefined
  ): void {
    const profile = gate.admit(message, origin)
    if (profile === undefined) return
    const { inflight } = this.#runtime
    // This check is the first: the error for an id in flight does not depend on the rest of the new request.
    if (inflight.isTaken(message.id)) return this.#reject(gate, message, RequestRejections.duplicate, origin)
    const forbidden = gate.permit?.(message, principal)
    if (forbidden !== undefined) return this.#reject(gate, message, forbidden, origin)
    const prepared = gate.prepare(message, profile)
    if (Result.isFailure(prepared)) return this.#reject(gate, message, prepared.failure, origin)
    const request = IncomingRequests.make(message, origin, Weight.received(message, bytes), principal)
    const full = inflight.open(request)
    if (full !== undefined) return this.#reject(gate, message, RequestRejections.overloaded(full), origin)
    request.fiber = HandlerFiber.start(
      prepared.success,
      gate.contextOf(request, message, profile),
      this.#runtime,
      (exit) => this.#finish(gate, request, message, exit)
    )
    // The handler may have been cancelled while it started, when there was no fiber to interrupt.
    if (request.ended) request.fiber.interruptUnsafe()
  }

  /** Rejects the largest request in flight, because the process, or the server, has no capacity left. */
  displaceLargest(): void {
    const request = this.#runtime.inflight.claimLargest()
    if (request === undefined) return
    IncomingRequests.interrupt(request)
    reject(this.#runtime, request, RequestRejections.displaced, request.origin)
  }

  #reject<P extends Profile.Profile, R>(
    { replies }: RequestGate<P, R>,
    message: JsonRpc.Request,
    error: JsonRpc.ErrorObject,
    origin: StreamOrigin | undefined
  ): void {
    reject(this.#runtime, message, error, origin, replies)
  }

  #finish<P extends Profile.Profile, R>(
    gate: RequestGate<P, R>,
    request: IncomingRequests.IncomingRequest,
    message: JsonRpc.Request,
    exit: HandlerFiber.HandlerExit
  ): void {
    const { inflight } = this.#runtime
    const claimed = inflight.claimForReply(request)
    request.ended = true
    const cause = HandlerFiber.failureOf(exit, claimed)
    if (cause !== undefined) {
      this.#runtime.emit({ _tag: "HandlerFailed", method: request.method, cause })
      this.#runtime.fork(Effect.logError(`the handler of ${RequestTarget.describe(message)} failed`, cause))
    }
    if (Cancellation.dropReplyUnlessClaimed(inflight, request, claimed)) return request.afterReply?.("None")
    // The request stays in flight until the transport has received its reply. Otherwise a peer that reads no replies
    // could send any number of requests.
    HandlerFiber.sendReply(
      request,
      this.#runtime,
      () =>
        gate.replies.reply(
          HandlerFiber.response(request.id, exit, this.#defect),
          request.origin,
          (isLost) => {
            inflight.release(request)
            request.afterReply?.(isLost ? "Lost" : "Sent")
          }
        )
    )
  }

  /**
   * The error of a handler that failed with none of its own. A session that goes on in another process, after its host
   * has shut down, has failed the questions of its handlers: the client cannot know what such a handler has done.
   */
  get #defect(): McpError.McpError {
    const reason = this.#runtime.state?.().reason
    return reason?._tag === "Requested" && reason.isKept === true ? ended : McpError.internalError
  }
}

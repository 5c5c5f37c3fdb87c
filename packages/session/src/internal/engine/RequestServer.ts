/** The engine that serves the peer's requests: one reply to each, and none to a request that was cancelled (law 5). */

import { type Handshake, JsonRpc, type MethodDefinition, MethodTable, type Profile } from "@effect-mcp/protocol"
import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type * as Fiber from "effect/Fiber"
import * as Result from "effect/Result"
import type * as Scope from "effect/Scope"
import type { Principal } from "../../Principal.ts"
import type { SessionEvent } from "../../SessionEvent.ts"
import type { Inbound, StreamOrigin } from "../../Transport.ts"
import * as Cancellation from "./Cancellation.ts"
import type { Dispatch } from "./Dispatch.ts"
import * as HandlerFiber from "./HandlerFiber.ts"
import * as IncomingRequests from "./IncomingRequests.ts"
import * as RequestRejections from "./RequestRejections.ts"
import * as RequestTarget from "./RequestTarget.ts"
import { validate } from "./validation.ts"
import * as Weight from "./Weight.ts"

/** The two ends of a request on the wire: a reply, or none. */
export interface ReplySink {
  /** Sends a reply without waiting. Calls `handed` when the transport has received it, or when sending has failed. */
  reply(response: JsonRpc.Response, origin: StreamOrigin | undefined, handed?: () => void): void
  /** Ends a message of this origin without a reply. */
  settle(origin: StreamOrigin | undefined): void
}

/** The session, or the one sessionless exchange, whose requests the engine serves. */
export interface RequestRuntime {
  readonly role: MethodDefinition.Role
  readonly inflight: IncomingRequests.IncomingRequests
  readonly replies: ReplySink
  state(): { readonly _tag: string }
  /** Applies an event to the handshake machine, and moves to the next state. */
  apply<Tag extends Handshake.EventTag>(event: Handshake.EventOf<Tag>): Handshake.Outcome<unknown, Tag>
  emit(event: SessionEvent): void
  fork<A, E>(effect: Effect.Effect<A, E>): Fiber.Fiber<A, E>
}

/** The gate in front of the engine: it decides which messages reach a handler, and for which peer. */
export interface RequestGate<P extends Profile.Profile, R> {
  readonly dispatch: Pick<Dispatch<R | Scope.Scope>, "prepare" | "notify">
  /** The requests of this side that are held until the peer is ready. */
  readonly sender: { release(): void }
  /** Returns the profile of the peer, or `undefined` before the handshake. */
  readonly peer: () => P | undefined
  /** Returns the services of the handlers, and those of one request. */
  readonly contextOf: (
    request: IncomingRequests.IncomingRequest,
    message: JsonRpc.Request,
    profile: P
  ) => Context.Context<R>
  /** Returns the services of the handlers of notifications, and those of one notification. */
  readonly notificationContextOf: (profile: P) => Context.Context<R>
  /** Handles a message of the handshake. Returns `false` for any other message. */
  readonly intercept: (
    message: JsonRpc.Request | JsonRpc.Notification,
    origin: StreamOrigin | undefined,
    bytes: number | undefined,
    principal: Principal | undefined
  ) => boolean
  /** Observes a frame that is no message, and answers none. */
  readonly stray?: (frame: Inbound["frame"]) => void
  /** Returns an error without an id as the response to the one request that it can be about, if there is one. */
  readonly identify?: (error: JsonRpc.Response) => JsonRpc.Response | undefined
}

/** Rejects a request with an error. */
export const reject = (
  runtime: Pick<RequestRuntime, "emit"> & { readonly replies: Pick<ReplySink, "reply"> },
  { id, method }: Pick<JsonRpc.Request, "id" | "method">,
  error: JsonRpc.ErrorObject,
  origin: StreamOrigin | undefined
): void => {
  runtime.emit({ _tag: "Rejected", method, id, code: error.code })
  runtime.replies.reply(JsonRpc.failure(id, error), origin)
}

const receivePing: Handshake.EventOf<"ReceivePing"> = { _tag: "ReceivePing" }
const receiveRequest: Handshake.EventOf<"ReceiveRequest"> = { _tag: "ReceiveRequest" }

/**
 * Serves requests in the same steps: admit, prepare, start, finish. A cancellation, an abandoned stream and a lack of
 * memory end a request earlier. Each end first claims the request, so that only one of them acts. The
 * first two are in `Cancellation.ts`, which also drops the reply of a handler if another end has claimed its request.
 *
 * No step suspends. Every table is changed before a fiber is started or woken, because that may run code of the program
 * at once.
 */
export class RequestServer<P extends Profile.Profile, R> {
  readonly #runtime: RequestRuntime
  readonly #gate: RequestGate<P, R>

  constructor(runtime: RequestRuntime, gate: RequestGate<P, R>) {
    this.#runtime = runtime
    this.#gate = gate
  }

  /** Serves a request, if the handshake machine admits it. */
  admit(
    message: JsonRpc.Request,
    origin: StreamOrigin | undefined,
    bytes: number | undefined,
    principal: Principal | undefined
  ): void {
    if (this.#gate.intercept(message, origin, bytes, principal)) return
    if (message.method === "ping") return this.#answerPing(message, origin)
    const decision = this.#decide()
    if (decision === "Ignore") return this.#ignore(message, origin)
    const profile = decision === "Deliver" ? this.#gate.peer() : undefined
    if (profile === undefined) return this.#rejectNotReady(message, origin)
    this.#prepare(message, profile, origin, bytes, principal)
  }

  /** Rejects the largest request in flight, because the process, or the server, has no capacity left. */
  displaceLargest(): void {
    const request = this.#runtime.inflight.claimLargest()
    if (request === undefined) return
    IncomingRequests.interrupt(request)
    reject(this.#runtime, request, RequestRejections.displaced, request.origin)
  }

  #answerPing(message: JsonRpc.Request, origin: StreamOrigin | undefined): void {
    if (this.#runtime.inflight.isTaken(message.id)) {
      return reject(this.#runtime, message, RequestRejections.duplicate, origin)
    }
    const params = validate(MethodTable.requests.ping.params)(message.params ?? {})
    if (Result.isFailure(params)) {
      return reject(this.#runtime, message, RequestRejections.invalidParams(params.failure), origin)
    }
    const outcome = this.#runtime.apply(receivePing)
    if (outcome._tag === "RemoteViolation") return this.#rejectNotReady(message, origin)
    switch (outcome.action) {
      case "Answer":
        return this.#runtime.replies.reply(JsonRpc.success(message.id, {}), origin)
      case "Ignore":
        return this.#ignore(message, origin)
    }
  }

  /** Decides what happens to a request now. The first request may stand for `notifications/initialized`. */
  #decide(): "Deliver" | "Reject" | "Ignore" {
    const outcome = this.#runtime.apply(receiveRequest)
    if (outcome._tag === "RemoteViolation") return "Reject"
    switch (outcome.action) {
      case "Deliver":
      case "Reject":
      case "Ignore":
        return outcome.action
      case "ReleaseAndDeliver":
        this.#gate.sender.release()
        return "Deliver"
    }
  }

  /** Drops a request that gets no response, because the peer must not send it in this revision (VER-23). */
  #ignore({ method }: JsonRpc.Request, origin: StreamOrigin | undefined): void {
    this.#runtime.emit({ _tag: "RequestIgnored", method })
    this.#runtime.replies.settle(origin)
  }

  #rejectNotReady(message: JsonRpc.Request, origin: StreamOrigin | undefined): void {
    reject(this.#runtime, message, RequestRejections.notReady(this.#runtime.role, this.#runtime.state()._tag), origin)
  }

  /** Checks the request, and reserves its id and its share of the capacity. */
  #prepare(
    message: JsonRpc.Request,
    profile: P,
    origin: StreamOrigin | undefined,
    bytes: number | undefined,
    principal: Principal | undefined
  ): void {
    // This check is the first: the error for an id in flight does not depend on the rest of the new request.
    if (this.#runtime.inflight.isTaken(message.id)) {
      return reject(this.#runtime, message, RequestRejections.duplicate, origin)
    }
    const prepared = this.#gate.dispatch.prepare(message, profile)
    if (Result.isFailure(prepared)) return reject(this.#runtime, message, prepared.failure, origin)
    const request = IncomingRequests.make(message, origin, Weight.received(message, bytes), principal)
    const full = this.#runtime.inflight.open(request)
    if (full !== undefined) return reject(this.#runtime, message, RequestRejections.overloaded(full), origin)
    this.#start(request, message, prepared.success, this.#gate.contextOf(request, message, profile))
  }

  #start(
    request: IncomingRequests.IncomingRequest,
    message: JsonRpc.Request,
    handling: HandlerFiber.Handling<R>,
    context: Context.Context<R>
  ): void {
    request.fiber = HandlerFiber.start(handling, context, this.#runtime, (exit) => this.#finish(request, message, exit))
    // The handler may have been cancelled while it started, when there was no fiber to interrupt.
    if (request.ended) request.fiber.interruptUnsafe()
  }

  #finish(request: IncomingRequests.IncomingRequest, message: JsonRpc.Request, exit: HandlerFiber.HandlerExit): void {
    const { inflight, replies } = this.#runtime
    const claimed = inflight.claimForReply(request)
    request.ended = true
    const cause = HandlerFiber.failureOf(exit, claimed)
    if (cause !== undefined) {
      this.#runtime.emit({ _tag: "HandlerFailed", method: request.method, cause })
      this.#runtime.fork(Effect.logError(`the handler of ${RequestTarget.describe(message)} failed`, cause))
    }
    if (Cancellation.dropReplyUnlessClaimed(inflight, request, claimed)) return
    // The request stays in flight until the transport has received its reply. Otherwise a peer that reads no replies
    // could send any number of requests.
    HandlerFiber.sendReply(
      request,
      this.#runtime,
      () => replies.reply(HandlerFiber.response(request.id, exit), request.origin, () => inflight.release(request))
    )
  }
}

/** The gate of a session with a handshake: the handshake machine decides which requests reach a handler. */

import { type Handshake, JsonRpc, type MethodDefinition, MethodTable, type Profile } from "@effect-mcp/protocol"
import type * as Context from "effect/Context"
import * as Result from "effect/Result"
import type * as Scope from "effect/Scope"
import type { Principal } from "../../Principal.ts"
import type { SessionEvent } from "../../SessionEvent.ts"
import type { StreamOrigin } from "../../Transport.ts"
import type { Dispatch, Prepared } from "./Dispatch.ts"
import type { IncomingRequest, IncomingRequests } from "./IncomingRequests.ts"
import * as RequestRejections from "./RequestRejections.ts"
import { reject, type ReplySink, type RequestGate } from "./RequestServer.ts"
import { validate } from "./validation.ts"

/** The session, or the frame without one, with the handshake machine. */
export interface HandshakeGateRuntime {
  readonly role: MethodDefinition.Role
  readonly inflight: Pick<IncomingRequests, "isTaken">
  readonly replies: ReplySink
  state(): { readonly _tag: string }
  /** Applies an event to the handshake machine, and moves to the next state. */
  apply<Tag extends Handshake.EventTag>(event: Handshake.EventOf<Tag>): Handshake.Outcome<unknown, Tag>
  emit(event: SessionEvent): void
}

/** The side of the session that serves the requests. */
export interface HandshakeGateDependencies<P extends Profile.Profile, R> {
  readonly dispatch: Pick<Dispatch<R | Scope.Scope>, "prepare">
  /** Returns the profile of the peer, or `undefined` before the handshake. */
  peer(): P | undefined
  contextOf(request: IncomingRequest, message: JsonRpc.Request, profile: P): Context.Context<R>
  /** Returns the error of a request that its sender may not send. Absent on the side without senders of their own. */
  permit?(message: JsonRpc.Request, principal: Principal | undefined): JsonRpc.ErrorObject | undefined
  /** Answers `initialize`. Absent on the side that sends it. */
  answerInitialize?(message: JsonRpc.Request, origin: StreamOrigin | undefined): void
  /** Sends the requests of this side that are held until the peer is ready. Absent if none is held. */
  release?(): void
}

const receivePing: Handshake.EventOf<"ReceivePing"> = { _tag: "ReceivePing" }
const receiveRequest: Handshake.EventOf<"ReceiveRequest"> = { _tag: "ReceiveRequest" }

/** The gate of one session, or of one frame. */
export class HandshakeGate<P extends Profile.Profile, R> implements RequestGate<P, R> {
  readonly #runtime: HandshakeGateRuntime
  readonly #dependencies: HandshakeGateDependencies<P, R>

  constructor(runtime: HandshakeGateRuntime, dependencies: HandshakeGateDependencies<P, R>) {
    this.#runtime = runtime
    this.#dependencies = dependencies
  }

  get replies(): ReplySink {
    return this.#runtime.replies
  }

  admit(message: JsonRpc.Request, origin: StreamOrigin | undefined): P | undefined {
    if (message.method === "ping") return this.#answerPing(message, origin)
    if (message.method === "initialize" && this.#dependencies.answerInitialize !== undefined) {
      return void this.#dependencies.answerInitialize(message, origin)
    }
    const decision = this.#decide()
    if (decision === "Ignore") return this.#ignore(message, origin)
    const profile = decision === "Deliver" ? this.#dependencies.peer() : undefined
    return profile ?? this.#rejectNotReady(message, origin)
  }

  permit(message: JsonRpc.Request, principal: Principal | undefined): JsonRpc.ErrorObject | undefined {
    return this.#dependencies.permit?.(message, principal)
  }

  prepare(message: JsonRpc.Request, profile: P): Prepared<R | Scope.Scope> {
    return this.#dependencies.dispatch.prepare(message, profile)
  }

  contextOf(request: IncomingRequest, message: JsonRpc.Request, profile: P): Context.Context<R> {
    return this.#dependencies.contextOf(request, message, profile)
  }

  #answerPing(message: JsonRpc.Request, origin: StreamOrigin | undefined): undefined {
    if (this.#runtime.inflight.isTaken(message.id)) {
      return void reject(this.#runtime, message, RequestRejections.duplicate, origin)
    }
    const params = validate(MethodTable.requests.ping.params)(message.params ?? {})
    if (Result.isFailure(params)) {
      return void reject(this.#runtime, message, RequestRejections.invalidParams(params.failure), origin)
    }
    const outcome = this.#runtime.apply(receivePing)
    if (outcome._tag === "RemoteViolation") return this.#rejectNotReady(message, origin)
    switch (outcome.action) {
      case "Answer":
        return void this.#runtime.replies.reply(JsonRpc.success(message.id, {}), origin)
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
        this.#dependencies.release?.()
        return "Deliver"
    }
  }

  /** Drops a request that gets no response, because the peer must not send it in this revision (VER-23). */
  #ignore({ method }: JsonRpc.Request, origin: StreamOrigin | undefined): undefined {
    this.#runtime.emit({ _tag: "RequestIgnored", method })
    this.#runtime.replies.settle(origin)
  }

  #rejectNotReady(message: JsonRpc.Request, origin: StreamOrigin | undefined): undefined {
    reject(this.#runtime, message, RequestRejections.notReady(this.#runtime.role, this.#runtime.state()._tag), origin)
  }
}

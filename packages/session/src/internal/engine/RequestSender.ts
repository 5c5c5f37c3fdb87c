/** The sending of one request, once: its exchange, its message, and its end. */

import {
  CloseReason,
  JsonRpc,
  type Meta,
  type Profile,
  type RequestId,
  Revision,
  type RevisionProjection
} from "@effect-mcp/protocol"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as RequestError from "../../RequestError.ts"
import type { RequestOptions } from "../../RequestOptions.ts"
import type { StreamOrigin } from "../../Transport.ts"
import { TransportError } from "../../TransportError.ts"
import type { Deadline } from "./Deadline.ts"
import * as Lane from "./Lane.ts"
import * as Outbox from "./Outbox.ts"
import * as Outgoing from "./Outgoing.ts"
import * as PendingRequests from "./PendingRequests.ts"
import * as ProgressMailbox from "./ProgressMailbox.ts"
import type { AnySessionRuntime } from "./SessionRuntime.ts"

/** The peer as this side knows it. */
export interface KnownPeer {
  /** Returns the profile of the peer, after the handshake. */
  readonly peer: () => Profile.Profile | undefined
  /** The projection to older revisions. Default: the one of `RevisionProjection.project`. */
  readonly projection: RevisionProjection.Projection | undefined
}

/** Options of a request, and the inbound request that it belongs to. */
export interface SendOptions<R> extends RequestOptions<R> {
  /** The key of a question, in a revision in which questions have keys. A session matches its requests by their ids. */
  readonly key?: string | undefined
  readonly replyTo?: StreamOrigin | undefined
  /** Called with the response in the step in which it is read. */
  readonly onResponse?: (response: JsonRpc.Response) => void
  /** Applies the event of this request to the handshake machine, if it is not the event of other requests. */
  readonly admit?: () => Outgoing.RequestAdmission
  /** Called with the id of the request, before it is sent. */
  readonly onOpen?: ((id: RequestId.RequestId) => void) | undefined
  /** Whether the request may become a task, although the result of its row is no task. */
  readonly isTask?: boolean
  /** The metadata of a request of the handshake, in a revision without one. */
  readonly metadata?: Meta.Meta | undefined
  /** The question that the next owner of the session waits for, if the session moves. */
  readonly movable?: PendingRequests.MovableQuestion | undefined
}

/**
 * A call of the program that has passed the checks. It may take several requests, which share its deadline and its
 * progress.
 */
export interface Call<R> {
  readonly row: Outgoing.MethodRequirements
  readonly params: object
  readonly options: SendOptions<R>
  /** Whether the first request waits until the peer is ready. */
  readonly isHeld: boolean
  /** Whether the caller receives a task, and not the result that it will have. */
  readonly takesTask: boolean
  readonly deadline: Deadline
  readonly progress: {
    /** The highest progress so far. */
    highest: number
  }
  /** The metadata of its requests, in a revision without a handshake. */
  readonly metadata: Meta.Meta | undefined
}

/** Sends the request of a call, and waits for its response. */
export type Send = <R>(call: Call<R>) => Effect.Effect<JsonRpc.Success, RequestError.RequestError, R>

/** A request that is held until the peer is ready. Before that, neither its form nor its checks are known. */
interface Held {
  readonly validate: () => RequestError.RequestErrorReason | undefined
  readonly enter: () => void
}

/** Sends each request once. */
export class RequestSender {
  readonly #runtime: AnySessionRuntime
  readonly #known: KnownPeer
  #held: Map<PendingRequests.Exchange, Held> | undefined
  #isReady = false

  constructor(runtime: AnySessionRuntime, known: KnownPeer) {
    this.#runtime = runtime
    this.#known = known
  }

  /** Sends a request once. */
  send<R>(
    { deadline, isHeld, metadata, options, params, progress, row, takesTask }: Call<R>
  ): Effect.Effect<JsonRpc.Success, RequestError.RequestError, R> {
    const { budget, exchanges, limits, outbox, timer } = this.#runtime
    const method = row.name
    const { onProgress } = options
    let opened: PendingRequests.Exchange | undefined
    let entry: Lane.Entry | undefined
    const own = (exchange: PendingRequests.Exchange) => {
      opened = exchange
    }
    // Between the opening of the exchange and the sending of the request, the fiber may be interrupted, and the session
    // may end.
    const exchanged = Effect.suspend((): Effect.Effect<JsonRpc.Success, RequestError.RequestError, R> => {
      // Before the exchange is opened, because a getter in the params may throw.
      const given = this.#project(method, Outgoing.copy(params))
      const opening = exchanges.open({
        method,
        progress: onProgress === undefined
          ? undefined
          : ProgressMailbox.make(
            { capacity: limits.maxProgressSteps, bytes: limits.maxNotificationBytes, budget },
            progress.highest
          ),
        openedAt: deadline.startedAt,
        deadline: deadline.at,
        allowedMillis: deadline.allowedMillis,
        extendsTo: deadline.extendsTo,
        onResponse: options.onResponse,
        isTask: takesTask,
        movable: options.movable
      }, own)
      return Effect.flatMap(opening, (exchange) => {
        if (!PendingRequests.isExchange(exchange)) return Effect.fail(closedError(method, exchange))
        options.onOpen?.(exchange.id)
        const enter = (projected: JsonRpc.Params) => {
          // The progress token is the request id.
          const token = onProgress === undefined ? undefined : exchange.id
          const message = JsonRpc.request(
            exchange.id,
            method,
            Outgoing.params(projected, options.meta, token, metadata)
          )
          entry = Lane.entry(
            { message, replyTo: options.replyTo, last: false },
            // A response that was read already has completed the exchange.
            { exchange, done: (exit) => this.#runtime.whenReading(() => this.#afterSend(exchange, message, exit)) }
          )
          outbox.offer(entry)
        }
        // If the session has ended since the exchange was opened, the exchange has failed, and nothing is sent.
        if (exchange.outcome === "Pending") {
          // An earlier owner of the session has sent it.
          const isSent = exchange.handed
          if (isHeld && !isSent) {
            this.#hold(exchange, {
              validate: () => Outgoing.validateRequest(row, given, this.#known.peer()),
              // Before the peer was ready, its revision was not known.
              enter: () => enter(this.#project(method, given))
            })
          } else if (!isSent) enter(given)
          timer.watch(exchange.deadline)
        }
        const response = Deferred.await(exchange.response)
        return exchange.progress === undefined || exchange.unanswered === undefined || onProgress === undefined
          ? response
          // All progress is delivered before the response. A failure does not wait for the consumer of progress.
          : Effect.raceFirst(
            Effect.andThen(exchange.progress.drain(onProgress), response),
            Deferred.await(exchange.unanswered)
          )
      })
    })
    return Effect.onExit(exchanged, (exit) => {
      if (opened === undefined) return Effect.void
      if (Exit.isFailure(exit)) this.#abandon(entry, opened, options.replyTo)
      opened.progress?.close()
      deadline.at = opened.deadline
      progress.highest = opened.progress?.highest() ?? progress.highest
      this.#held?.delete(opened)
      if (opened.stream !== undefined) outbox.releaseStream(opened.stream)
      return exchanges.remove(opened)
    })
  }

  /** Returns the params in the form of the peer's revision. */
  #project(method: string, params: JsonRpc.Params): JsonRpc.Params {
    return Outgoing.project(method, params, this.#known.peer(), this.#known.projection)
  }

  /** Sends the held requests, because the peer is ready. */
  release(): void {
    this.#isReady = true
    for (const [exchange, held] of this.#held ?? []) {
      this.#held?.delete(exchange)
      if (exchange.outcome === "Pending") this.#enter(exchange, held)
    }
  }

  /** Holds a request until the peer is ready. If the peer has become ready meanwhile, nothing else would send it. */
  #hold(exchange: PendingRequests.Exchange, held: Held): void {
    if (this.#isReady) return this.#enter(exchange, held)
    this.#held ??= new Map()
    this.#held.set(exchange, held)
  }

  /** Sends a held request, if it passes the checks for this peer. */
  #enter(exchange: PendingRequests.Exchange, { enter, validate }: Held): void {
    try {
      const blocked = validate()
      if (blocked === undefined) enter()
      else PendingRequests.fail(exchange, blocked)
    } catch (thrown) {
      // A getter in the params may throw. Without this, the exception would end the read loop.
      PendingRequests.fail(exchange, { _tag: "InvalidParams", problem: String(thrown) })
    }
  }

  /**
   * Handles the result of sending: the transport received the request, failed, or has ended the stream of the request.
   */
  #afterSend(
    exchange: PendingRequests.Exchange,
    message: JsonRpc.Message,
    exit: Exit.Exit<void, TransportError>
  ): void {
    if (exchange.outcome !== "Pending") return
    const runtime = this.#runtime
    const streamed = runtime.connection.request !== undefined
    if (Exit.isSuccess(exit)) exchange.movable?.onSent()
    const error = streamed && Exit.isSuccess(exit)
      ? new TransportError({ reason: { _tag: "ExchangeEnded", isStreamLost: true } })
      : Outbox.errorOf(exit)
    if (error === undefined) return
    PendingRequests.fail(
      exchange,
      error.reason._tag === "ExchangeEnded" ? { _tag: "OutcomeUnknown", error } : { _tag: "SendFailed", error }
    )
    // The failure of a stream that belongs to one request affects only that request.
    if (streamed) runtime.emit({ _tag: "SendFailed", method: exchange.method, error })
    else runtime.failedToSend(message, error)
  }

  /**
   * Ends an exchange whose caller no longer waits. If the exchange is still open, the request is withdrawn or, if the
   * peer may have received it, cancelled.
   */
  #abandon(
    entry: Lane.Entry | undefined,
    exchange: PendingRequests.Exchange,
    replyTo: StreamOrigin | undefined
  ): void {
    const runtime = this.#runtime
    const { outbox } = runtime
    if (exchange.outcome === "Answered" || exchange.outcome === "Lost") return
    const reason = exchange.outcome === "Pending"
      ? "the caller no longer waits"
      : "reason" in runtime.state()
      ? "the session is closing"
      : `no response within ${PendingRequests.waited(exchange)} ms`
    exchange.outcome = "Abandoned"
    const isWithdrawn = entry === undefined ? exchange.movable?.isSent !== true : outbox.withdraw(entry)
    if (!isWithdrawn && this.#isCancelled(exchange)) {
      const message = JsonRpc.notification("notifications/cancelled", { requestId: exchange.id, reason })
      outbox.offer(
        Lane.entry({ message, replyTo, last: false }, {
          done: (exit) => {
            const error = Outbox.errorOf(exit)
            if (error !== undefined) runtime.failedToSend(message, error)
            else if (Exit.isSuccess(exit)) {
              runtime.emit({ _tag: "CancelSent", method: exchange.method, id: exchange.id, reason })
            }
          }
        })
      )
    }
    exchange.stream?.interruptUnsafe()
  }

  /**
   * Returns whether a message cancels an abandoned request. The requests of the handshake are never cancelled (CAN-02),
   * and neither are those that become tasks (CAN-03).
   * In a revision without a handshake, the end of its stream cancels a request that has one.
   */
  #isCancelled({ isTask, method, movable, stream }: PendingRequests.Exchange): boolean {
    const state = this.#runtime.state()
    // The next owner of the session waits for the answer.
    const isWaitedFor = "reason" in state && CloseReason.goesOnElsewhere(state.reason)
    if (movable !== undefined && (isWaitedFor || movable.isAnswered())) return false
    const peer = this.#known.peer()
    const isEndedByStream = stream !== undefined && peer !== undefined && Revision.isModern(peer.revision)
    return isTask !== true && !uncancelled.has(method) && !isEndedByStream
  }
}

/** The requests that are never cancelled: a session that ends before its first response sends nothing else. */
const uncancelled: ReadonlySet<string> = new Set(["initialize", "server/discover"])

const closedError = (method: string, reason: CloseReason.CloseReason) =>
  RequestError.make(method, { _tag: "Closed", reason, isSent: false })

/** The requests and notifications that a session sends. */

import {
  type CloseReason,
  type InputRequired,
  JsonRpc,
  type Meta,
  type MethodDefinition,
  MethodTable,
  type Profile,
  type Progress,
  type RequestId,
  Revision,
  type RevisionProjection
} from "@effect-mcp/protocol"
import * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Result from "effect/Result"
import * as Tracer from "effect/Tracer"
import type * as Middleware from "../../Middleware.ts"
import * as RequestError from "../../RequestError.ts"
import type { RequestOptions } from "../../RequestOptions.ts"
import { Baggage } from "../../Tracing.ts"
import type { StreamOrigin } from "../../Transport.ts"
import { TransportError } from "../../TransportError.ts"
import { trust } from "../trust.ts"
import * as Lane from "./Lane.ts"
import * as Outbox from "./Outbox.ts"
import * as Outgoing from "./Outgoing.ts"
import * as PendingRequests from "./PendingRequests.ts"
import * as ProgressMailbox from "./ProgressMailbox.ts"
import * as SemanticChecks from "./SemanticChecks.ts"
import type { AnySessionRuntime } from "./SessionRuntime.ts"
import * as Tolerance from "./Tolerance.ts"
import { type Validate, validate } from "./validation.ts"

/** Sends a request and waits for its result. */
export type Request = <Params extends object, Result, R = never>(
  row: MethodDefinition.RequestMethod<string, MethodDefinition.Sender, Params, Result>,
  params: Params,
  options?: SendOptions<R>
) => Effect.Effect<Result, RequestError.RequestError, R>

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
  /** The metadata of this request, instead of those of the session. */
  readonly metadata?: Meta.Meta | undefined
}

/** A call of the program. In a revision without a handshake, it takes several requests if the server asks questions. */
export interface Call {
  readonly method: string
  readonly startedAt: number
  readonly allowedMillis: number
  /** The latest deadline, if progress extends the deadline; `undefined` if it does not. */
  readonly extendsTo: number | undefined
  /** The time at which the call times out, on the timer's clock. */
  deadline: number
  /** The highest progress so far. */
  highest: number
  /** The program answers the questions of the server, and not the handlers of the session. */
  readonly isAnsweredByProgram: boolean
  /** Whether the caller receives a task, and not the result that it will have. */
  readonly takesTask: boolean
  /** The number of answers that were no result. */
  rounds: number
}

/** The result of a call whose response was a task. */
export interface LaterResult {
  readonly later: object
}

/** The side of the session that sends. */
export interface SenderDependencies {
  /** Returns the profile of the peer, after the handshake. */
  readonly peer: () => Profile.Profile | undefined
  /** The capabilities that this side declares. */
  readonly declared: Outgoing.Declared
  /** The projection to older revisions. Default: the one of `RevisionProjection.project`. */
  readonly projection: RevisionProjection.Projection | undefined
  /** The middleware of all requests except `initialize`. */
  readonly middleware: Middleware.OutboundMiddleware<unknown> | undefined
  /** Checks requests in the form in which they are sent, and results in the form in which they arrive. */
  readonly checking?: ((request: Request) => Request) | undefined
  /** Returns the metadata of each request, in a revision without a handshake. */
  readonly metadata?: (() => Meta.Meta | undefined) | undefined
  /** Returns a result without the members that all results have, in a revision without a handshake. */
  readonly withoutEnvelope?: (method: string, result: unknown) => unknown
  /**
   * Reads an answer to a request. Returns `undefined` for a result, and otherwise makes the additions with which the
   * request is sent again, or the result.
   */
  readonly followUp?: (
    call: Call,
    answer: JsonRpc.Success
  ) => Effect.Effect<InputRequired.Retry | LaterResult, RequestError.RequestError> | undefined
}

/** A request that is held until the peer is ready. Before that, neither its form nor its checks are known. */
interface Held {
  readonly validate: () => RequestError.RequestErrorReason | undefined
  readonly enter: () => void
}

/** Sends requests and notifications of this side. */
export class Sender {
  readonly #runtime: AnySessionRuntime
  readonly #dependencies: SenderDependencies
  #held: Map<PendingRequests.Exchange, Held> | undefined
  #isReady = false
  #services: Context.Context<never> | undefined
  #checked: { readonly checking: SenderDependencies["checking"]; readonly request: Request } | undefined

  constructor(runtime: AnySessionRuntime, dependencies: SenderDependencies) {
    this.#runtime = runtime
    this.#dependencies = dependencies
  }

  /** Sends a request and waits for its result. */
  request<Params extends object, Result, R = never>(
    row: MethodDefinition.RequestMethod<string, MethodDefinition.Sender, Params, Result>,
    params: Params,
    options?: SendOptions<R>
  ): Effect.Effect<Result, RequestError.RequestError, R> {
    // `initialize` passes no middleware.
    if (this.#dependencies.middleware === undefined || options?.admit !== undefined) {
      return this.#exchange(row, params, options)
    }
    return this.around(row, params, (sent, onOpen) => this.#exchange(row, sent, { ...options, onOpen }))
  }

  /** Passes a request through the middleware, and then does what carries it out. */
  around<Params extends object, Result, R = never>(
    row: MethodDefinition.RequestMethod<string, MethodDefinition.Sender, Params, Result>,
    params: Params,
    carryOut: (
      params: Params,
      onOpen: SendOptions<R>["onOpen"]
    ) => Effect.Effect<Result, RequestError.RequestError, R>
  ): Effect.Effect<Result, RequestError.RequestError, R> {
    const { middleware } = this.#dependencies
    if (middleware === undefined) return carryOut(params, undefined)
    // A request is an effect: nothing happens before it runs, and all of it happens each time that it runs.
    return this.#provided(Effect.suspend(() =>
      middleware(
        { method: row.name, params, profile: this.#dependencies.peer(), onOpen: undefined },
        (sent) => carryOut(sent.params, sent.onOpen)
      )
    ))
  }

  /** Sends a notification. Waits while the outbox is full. */
  notify<Params extends object>(
    row: MethodDefinition.NotificationMethod<string, MethodDefinition.Sender, Params>,
    params: Params,
    replyTo?: StreamOrigin
  ): Effect.Effect<void, RequestError.RequestError> {
    return Effect.suspend(() => {
      const fail = (reason: RequestError.RequestErrorReason) => Effect.fail(RequestError.make(row.name, reason))
      const admission = Outgoing.admitNotification(this.#runtime)
      if (typeof admission === "object") return fail(admission)
      const notification = Outgoing.notification(row, params, this.#dependencies.peer(), this.#dependencies)
      if (Result.isFailure(notification)) return fail(notification.failure)
      return this.#post(row.name, notification.success, replyTo)
    })
  }

  /** Reports progress of a request of the peer with this progress token (PRG-03 to PRG-05). */
  progress(
    token: Meta.ProgressToken,
    step: Progress.Progress,
    replyTo?: StreamOrigin
  ): Effect.Effect<void, RequestError.RequestError> {
    const row = MethodTable.notifications["notifications/progress"]
    return Effect.suspend(() => {
      const fail = (reason: RequestError.RequestErrorReason) => Effect.fail(RequestError.make(row.name, reason))
      const admission = Outgoing.admitNotification(this.#runtime)
      if (typeof admission === "object") return fail(admission)
      const request = this.#runtime.inflight.findByProgressToken(token)
      if (request === undefined) return fail({ _tag: "UnknownProgressToken", token })
      const problem = validateStep(step, request.highest)
      if (problem !== undefined) return fail({ _tag: "InvalidParams", problem })
      request.highest = step.progress
      return this.notify(row, { ...step, progressToken: token }, replyTo)
    })
  }

  /** Sends a message as it is. Waits while the outbox is full. */
  send(message: JsonRpc.Message, replyTo?: StreamOrigin): Effect.Effect<void, RequestError.RequestError> {
    return this.#post("method" in message ? message.method : "a response", message, replyTo)
  }

  /** Sends the held requests, because the peer is ready. */
  release(): void {
    this.#isReady = true
    for (const [exchange, held] of this.#held ?? []) {
      this.#held?.delete(exchange)
      if (exchange.outcome === "Pending") this.#enter(exchange, held)
    }
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

  /** Returns the params in the form of the peer's revision. */
  #project(method: string, params: JsonRpc.Params): JsonRpc.Params {
    return Outgoing.project(method, params, this.#dependencies.peer(), this.#dependencies.projection)
  }

  /**
   * Returns why this request cannot be sent to this peer. Checks of the method run first, because their errors are more
   * precise.
   */
  #validate(row: Outgoing.MethodRequirements, params: object): RequestError.RequestErrorReason | undefined {
    return SemanticChecks.checkOf(row.name)?.(params, this.#dependencies.peer()) ??
      Outgoing.validateMessage(row, this.#dependencies.peer(), ({ capabilities }) => capabilities)
  }

  #reportFailure(message: JsonRpc.Message, exit: Exit.Exit<void, TransportError>): void {
    const error = Outbox.errorOf(exit)
    if (error !== undefined) this.#runtime.failedToSend(message, error)
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
    const streamed = this.#runtime.connection.request !== undefined
    const error = streamed && Exit.isSuccess(exit)
      ? new TransportError({ reason: { _tag: "ExchangeEnded", isStreamLost: true } })
      : Outbox.errorOf(exit)
    if (error === undefined) return
    PendingRequests.fail(
      exchange,
      error.reason._tag === "ExchangeEnded" ? { _tag: "OutcomeUnknown", error } : { _tag: "SendFailed", error }
    )
    // The failure of a stream that belongs to one request affects only that request.
    if (streamed) this.#runtime.emit({ _tag: "SendFailed", method: exchange.method, error })
    else this.#runtime.failedToSend(message, error)
  }

  /**
   * Ends an exchange whose caller no longer waits. If the exchange is still open, the request is withdrawn or, if the
   * peer may have received it, cancelled.
   */
  #abandon(entry: Lane.Entry | undefined, exchange: PendingRequests.Exchange): void {
    const runtime = this.#runtime
    const { outbox } = runtime
    if (exchange.outcome === "Answered" || exchange.outcome === "Lost") return
    const reason = exchange.outcome === "Pending"
      ? "the caller no longer waits"
      : "reason" in runtime.state()
      ? "the session is closing"
      : `no response within ${PendingRequests.waited(exchange)} ms`
    exchange.outcome = "Abandoned"
    if (entry !== undefined && !outbox.withdraw(entry) && this.#isCancelled(exchange)) {
      const message = JsonRpc.notification("notifications/cancelled", { requestId: exchange.id, reason })
      outbox.offer(
        Lane.entry({ message, replyTo: entry.outbound.replyTo, last: false }, {
          done: (exit) => {
            if (Exit.isSuccess(exit)) {
              runtime.emit({ _tag: "CancelSent", method: exchange.method, id: exchange.id, reason })
            } else this.#reportFailure(message, exit)
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
  #isCancelled({ isTask, method, stream }: PendingRequests.Exchange): boolean {
    return isTask !== true && !uncancelled.has(method) && !(this.#isModern && stream !== undefined)
  }

  get #isModern(): boolean {
    const peer = this.#dependencies.peer()
    return peer !== undefined && Revision.isModern(peer.revision)
  }

  #send<R>(
    row: Outgoing.MethodRequirements,
    params: object,
    hold: boolean,
    call: Call,
    options: SendOptions<R> | undefined
  ): Effect.Effect<JsonRpc.Success, RequestError.RequestError, R> {
    const { budget, exchanges, limits, outbox, timer } = this.#runtime
    const method = row.name
    const onProgress = options?.onProgress
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
            call.highest
          ),
        openedAt: call.startedAt,
        deadline: call.deadline,
        allowedMillis: call.allowedMillis,
        extendsTo: call.extendsTo,
        onResponse: options?.onResponse,
        isTask: call.takesTask
      }, own)
      return Effect.flatMap(opening, (exchange) => {
        if (!PendingRequests.isExchange(exchange)) return Effect.fail(closedError(method, exchange))
        options?.onOpen?.(exchange.id)
        const enter = (projected: JsonRpc.Params) => {
          // The progress token is the request id.
          const token = onProgress === undefined ? undefined : exchange.id
          const metadata = options?.metadata ?? this.#dependencies.metadata?.()
          const message = JsonRpc.request(
            exchange.id,
            method,
            Outgoing.params(projected, options?.meta, token, metadata)
          )
          entry = Lane.entry(
            { message, replyTo: options?.replyTo, last: false },
            { exchange, done: (exit) => this.#afterSend(exchange, message, exit) }
          )
          outbox.offer(entry)
        }
        // If the session has ended since the exchange was opened, the exchange has failed, and nothing is sent.
        if (exchange.outcome === "Pending") {
          if (hold) {
            const held: Held = {
              validate: () => this.#validate(row, given),
              // Before the peer was ready, its revision was not known.
              enter: () => enter(this.#project(method, given))
            }
            // If the peer has become ready since the request was admitted, nothing else would send it.
            if (this.#isReady) this.#enter(exchange, held)
            else {
              this.#held ??= new Map()
              this.#held.set(exchange, held)
            }
          } else enter(given)
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
      if (Exit.isFailure(exit)) this.#abandon(entry, opened)
      opened.progress?.close()
      call.deadline = opened.deadline
      call.highest = opened.progress?.highest() ?? call.highest
      this.#held?.delete(opened)
      if (opened.stream !== undefined) outbox.releaseStream(opened.stream)
      return exchanges.remove(opened)
    })
  }

  /**
   * Sends a request. In a revision without a handshake, a lost stream cannot be resumed. A request that only reads is
   * then sent once more, with a new id (SHE-10). Any other request may have been carried out.
   */
  #sendAgainIfLost<R>(
    row: Outgoing.MethodRequirements,
    params: object,
    hold: boolean,
    call: Call,
    options: SendOptions<R> | undefined
  ): Effect.Effect<JsonRpc.Success, RequestError.RequestError, R> {
    const sent = this.#send(row, params, hold, call, options)
    if (!MethodTable.readingMethods.has(row.name)) return sent
    return Effect.catchIf(
      sent,
      (error) => isStreamLost(error) && this.#isModern,
      () => this.#send(row, params, false, call, options)
    )
  }

  /** Sends a request, and sends it again with the answers to the questions of the server, until it has a result. */
  #sendInRounds<R>(
    row: Outgoing.MethodRequirements,
    params: object,
    hold: boolean,
    call: Call,
    options: SendOptions<R> | undefined
  ): Effect.Effect<JsonRpc.Success, RequestError.RequestError, R> {
    const sent = this.#sendAgainIfLost(row, params, hold, call, options)
    if (this.#dependencies.followUp === undefined) return sent
    return Effect.flatMap(sent, (answer) => {
      const followed = this.#dependencies.followUp?.(call, answer)
      if (followed === undefined) return Effect.succeed(answer)
      return Effect.flatMap(
        followed,
        (next) =>
          "later" in next
            ? Effect.succeed(JsonRpc.success(answer.id, next.later))
            : Effect.mapError(this.#sendInRounds(row, repeated(params, next), false, call, options), afterAnswers)
      )
    })
  }

  #exchange<Params extends object, Result, R>(
    row: MethodDefinition.RequestMethod<string, MethodDefinition.Sender, Params, Result>,
    params: Params,
    options: SendOptions<R> | undefined
  ): Effect.Effect<Result, RequestError.RequestError, R> {
    const { checking } = this.#dependencies
    if (checking === undefined) return this.#unchecked(row, params, options)
    // Made once for all requests: it changes only when the handshake has shown the revision.
    if (this.#checked?.checking !== checking) {
      this.#checked = { checking, request: checking((row, params, options) => this.#unchecked(row, params, options)) }
    }
    return this.#checked.request(row, params, options)
  }

  #unchecked<Params extends object, Result, R>(
    row: MethodDefinition.RequestMethod<string, MethodDefinition.Sender, Params, Result>,
    params: Params,
    options: SendOptions<R> | undefined
  ): Effect.Effect<Result, RequestError.RequestError, R> {
    return Effect.suspend(() => {
      const { limits } = this.#runtime
      const fail = (reason: RequestError.RequestErrorReason) => Effect.fail(RequestError.make(row.name, reason))
      const admission = options?.admit === undefined
        ? Outgoing.admitRequest(this.#runtime, row.name === "ping" ? Outgoing.sendPing : Outgoing.sendRequest)
        : options.admit()
      if (typeof admission === "object") return fail(admission)
      const takesTask = options?.isTask === true || Outgoing.returnsTask(row)
      const blocked = (takesTask ? undefined : SemanticChecks.validateNoTask(row.name, params)) ??
        this.#validate(row, params)
      if (blocked !== undefined) return fail(blocked)
      const allowedMillis = options?.timeout === undefined
        ? limits.requestTimeout
        : Duration.toMillis(options.timeout)
      const totalMillis = options?.totalTimeout !== undefined
        ? Duration.toMillis(options.totalTimeout)
        : options?.extendOnProgress === true
        ? Math.max(limits.requestTotalTimeout, allowedMillis)
        : Number.POSITIVE_INFINITY
      if (Math.min(allowedMillis, totalMillis) <= 0) return fail({ _tag: "Timeout", afterMillis: 0 })
      const startedAt = this.#runtime.timer.now()
      const total = startedAt + totalMillis
      const call: Call = {
        method: row.name,
        startedAt,
        allowedMillis,
        extendsTo: options?.extendOnProgress === true ? total : undefined,
        deadline: Math.min(startedAt + allowedMillis, total),
        highest: Number.NEGATIVE_INFINITY,
        isAnsweredByProgram: options?.questions === "program",
        takesTask,
        rounds: 0
      }
      const sent = this.#sendInRounds(row, params, Outgoing.isHeld(admission), call, options)
      return Effect.flatMap(sent, (success) => {
        const fits = validate(row.result)
        const given = this.#dependencies.withoutEnvelope?.(row.name, success.result) ?? success.result
        const received = fits(given)
        const result = Result.isSuccess(received) ? received : this.#tolerate(row, given, fits) ?? received
        if (Result.isFailure(result)) return fail({ _tag: "InvalidResult", problem: result.failure })
        const problem = takesTask ? undefined : SemanticChecks.validateResult(row.name, params, result.success)
        return problem === undefined ? Effect.succeed(result.success) : fail({ _tag: "InvalidResult", problem })
      })
    })
  }

  /** Reads a result that breaks its schema and still has one possible meaning. */
  #tolerate<A>(
    row: Outgoing.MethodRequirements,
    result: unknown,
    fits: Validate<A>
  ): Result.Result<A, string> | undefined {
    const meant = Tolerance.tolerate(row, result)
    if (meant === undefined) return undefined
    const read = fits(meant.result)
    if (Result.isSuccess(read)) this.#runtime.emit({ _tag: "Tolerated", method: row.name, problem: meant.problem })
    return read
  }

  /** Provides the services that middleware captured when the session was made. Services of the caller win. */
  #provided<A, E, R>(effect: Effect.Effect<A, E, unknown>): Effect.Effect<A, E, R> {
    // A caller without a span starts a new trace, and does not continue the trace or the baggage of the session's
    // start.
    const services = this.#services ??= Context.omit(Tracer.ParentSpan, Baggage)(this.#runtime.context)
    return trust(Effect.updateContext(effect, (caller) => Context.merge(services, caller)))
  }

  /** Adds a message without a response to the outbox. Waits until it is sent, unless the outbox had room. */
  #post(
    name: string,
    message: JsonRpc.Message,
    replyTo: StreamOrigin | undefined
  ): Effect.Effect<void, RequestError.RequestError> {
    return Effect.suspend(() => {
      const { outbox } = this.#runtime
      const hadRoom = outbox.hasRoom(replyTo)
      const handed = Deferred.makeUnsafe<void, TransportError>()
      const entry = Lane.entry({ message, replyTo, last: false }, {
        done: (exit) => {
          this.#reportFailure(message, exit)
          const error = Outbox.errorOf(exit)
          Deferred.doneUnsafe(handed, error === undefined ? Exit.void : Exit.fail(error))
        }
      })
      outbox.offer(entry)
      if (hadRoom && !Deferred.isDoneUnsafe(handed)) return Effect.void
      return Deferred.await(handed).pipe(
        Effect.onInterrupt(() => Effect.sync(() => outbox.withdraw(entry))),
        Effect.mapError((error) => {
          const state = this.#runtime.state()
          return RequestError.make(
            name,
            "reason" in state
              ? { _tag: "Closed", reason: state.reason, isSent: entry.state === "Handed" }
              : { _tag: "SendFailed", error }
          )
        })
      )
    })
  }
}

/** The requests that are never cancelled: a session that ends before its first response sends nothing else. */
const uncancelled: ReadonlySet<string> = new Set(["initialize", "server/discover"])

const isStreamLost = ({ reason }: RequestError.RequestError): boolean =>
  reason._tag === "OutcomeUnknown" && reason.error.reason._tag === "ExchangeEnded" &&
  reason.error.reason.isStreamLost === true

/** Returns the error of a round after the first one. The server has received the call, even if not its last round. */
const afterAnswers = (error: RequestError.RequestError): RequestError.RequestError => {
  const { method, reason } = error
  switch (reason._tag) {
    case "Closed":
      return RequestError.make(method, { ...reason, isSent: true })
    case "SendFailed":
      return RequestError.make(method, { _tag: "OutcomeUnknown", error: reason.error })
    default:
      return error
  }
}

/** Returns the params of a request that is sent again. Nothing of an earlier round is sent (MRTR-15, MRTR-18). */
const repeated = (params: object, retry: InputRequired.Retry): object => {
  const { inputResponses: _, requestState: __, ...given }: InputRequired.Retry = params
  return { ...given, ...retry }
}

/** Returns why the receiver of a step of progress would drop it. */
const validateStep = ({ progress, total }: Progress.Progress, highest: number): string | undefined => {
  if (!Number.isFinite(progress)) return `progress: expected a finite number, got ${progress}`
  if (total !== undefined && !Number.isFinite(total)) return `total: expected a finite number, got ${total}`
  return progress > highest ? undefined : `progress: expected more than ${highest}, the last step, got ${progress}`
}

const closedError = (method: string, reason: CloseReason.CloseReason) =>
  RequestError.make(method, { _tag: "Closed", reason, isSent: false })

import {
  type CloseReason,
  type Handshake,
  JsonRpc,
  type Meta,
  type MethodDefinition,
  MethodTable,
  type Profile,
  type Progress,
  type RequestId,
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
import type { AnyCore } from "./SessionRuntime.ts"
import * as Tolerance from "./Tolerance.ts"
import { type Validate, validate } from "./validation.ts"

/** Sends a request and waits for its result. */
export type Request = <Params extends object, Result, R = never>(
  row: MethodDefinition.RequestMethod<string, MethodDefinition.Sender, Params, Result>,
  params: Params,
  options?: SendOptions<R>
) => Effect.Effect<Result, RequestError.RequestError, R>

/** What a caller says about a request, and the inbound request it is sent for, if any. */
export interface SendOptions<R> extends RequestOptions<R> {
  readonly replyTo?: StreamOrigin | undefined
  /** Sees the response in the very step it arrives in. */
  readonly onAnswer?: (response: JsonRpc.Response) => void
  /** What sending it is to the handshake, where that is not plainly a request. */
  readonly event?: Handshake.Event
  /** Is told the id of the exchange that it opens. */
  readonly onOpen?: ((id: RequestId.RequestId) => void) | undefined
}

/** What a sender has to know beyond the core. */
export interface Parties {
  /** What is known of the peer, once it is. */
  readonly peer: () => Profile.Profile | undefined
  /** What this side has declared. */
  readonly declared: Outgoing.Declared
  /** The form of messages for peers of older revisions. Default: that of `RevisionProjection.downgrade`. */
  readonly projection: RevisionProjection.Projection | undefined
  /** What every request but `initialize` goes through. */
  readonly middleware: Middleware.Outbound<unknown> | undefined
  /** What looks at requests as the peer gets them, and at results as it gave them. */
  readonly checking?: ((request: Request) => Request) | undefined
}

/** A request that waits until the peer is ready; only then is it known whether, and in which form, it may be sent. */
interface Held {
  readonly obstacle: () => RequestError.RequestErrorReason | undefined
  readonly enter: () => void
}

const sendPing: Handshake.Event = { _tag: "SendPing" }
const sendRequest: Handshake.Event = { _tag: "SendRequest" }
const sendNotification: Handshake.Event = { _tag: "SendNotification" }

/**
 * The ways out for what this side's program wants: requests and notifications.
 */
export class Sender {
  readonly #core: AnyCore
  readonly #parties: Parties
  #held: Map<PendingRequests.Exchange, Held> | undefined
  #isReady = false
  #services: Context.Context<never> | undefined

  constructor(core: AnyCore, parties: Parties) {
    this.#core = core
    this.#parties = parties
  }

  /** Sends a request and waits for its result. */
  request<Params extends object, Result, R = never>(
    row: MethodDefinition.RequestMethod<string, MethodDefinition.Sender, Params, Result>,
    params: Params,
    options?: SendOptions<R>
  ): Effect.Effect<Result, RequestError.RequestError, R> {
    const { middleware } = this.#parties
    // The handshake's own request is no matter of the program's.
    if (middleware === undefined || options?.event !== undefined) return this.#exchange(row, params, options)
    // A request is an effect: nothing of it happens before it runs, and all of it happens each time that it does.
    return this.#provided(Effect.suspend(() =>
      middleware(
        { method: row.name, params, profile: this.#parties.peer(), onOpen: undefined },
        (sent) => this.#exchange(row, sent.params, { ...options, onOpen: sent.onOpen })
      )
    ))
  }

  /** Sends a notification; waits while the outbox is full. */
  notify<Params extends object>(
    row: MethodDefinition.NotificationMethod<string, MethodDefinition.Sender, Params>,
    params: Params,
    replyTo?: StreamOrigin
  ): Effect.Effect<void, RequestError.RequestError> {
    return Effect.suspend(() => {
      const fail = (reason: RequestError.RequestErrorReason) => Effect.fail(RequestError.make(row.name, reason))
      const admission = this.#admit(sendNotification)
      if (typeof admission === "object") return fail(admission)
      const notification = Outgoing.notification(row, params, this.#parties.peer(), this.#parties)
      if (Result.isFailure(notification)) return fail(notification.failure)
      return this.#post(row.name, notification.success, replyTo)
    })
  }

  /** Reports progress of a request that is being served, by the token that it came with (PRG-03 to PRG-05). */
  progress(
    token: Meta.ProgressToken,
    step: Progress.Progress,
    replyTo?: StreamOrigin
  ): Effect.Effect<void, RequestError.RequestError> {
    const row = MethodTable.notifications["notifications/progress"]
    return Effect.suspend(() => {
      const fail = (reason: RequestError.RequestErrorReason) => Effect.fail(RequestError.make(row.name, reason))
      const admission = this.#admit(sendNotification)
      if (typeof admission === "object") return fail(admission)
      const served = this.#core.inflight.findByProgressToken(token)
      if (served === undefined) return fail({ _tag: "UnknownProgressToken", token })
      const problem = problemOfStep(step, served.highest)
      if (problem !== undefined) return fail({ _tag: "InvalidParams", problem })
      served.highest = step.progress
      return this.notify(row, { ...step, progressToken: token }, replyTo)
    })
  }

  /** Sends a message as it is; waits while the outbox is full. */
  send(message: JsonRpc.Message, replyTo?: StreamOrigin): Effect.Effect<void, RequestError.RequestError> {
    return this.#post("method" in message ? message.method : "a response", message, replyTo)
  }

  /** Lets go the requests that waited until the peer is ready. */
  release(): void {
    this.#isReady = true
    for (const [exchange, held] of this.#held ?? []) {
      this.#held?.delete(exchange)
      if (exchange.outcome === "Pending") this.#enter(exchange, held)
    }
  }

  /** Sends a request that was held, if this peer allows it. */
  #enter(exchange: PendingRequests.Exchange, { enter, obstacle }: Held): void {
    try {
      const blocked = obstacle()
      if (blocked === undefined) enter()
      else PendingRequests.fail(exchange, blocked)
    } catch (thrown) {
      // A getter of the program's params may throw; without this, it would end the reader.
      PendingRequests.fail(exchange, { _tag: "InvalidParams", problem: String(thrown) })
    }
  }

  /** Whether the state of the session lets this out; if not, why. */
  #admit(event: Handshake.Event): "Send" | "Hold" | RequestError.RequestErrorReason {
    const state = this.#core.state()
    const outcome = this.#core.happen(event)
    if (outcome._tag === "Moved" && (outcome.action === "Send" || outcome.action === "Hold")) return outcome.action
    if ("reason" in state) return { _tag: "Closed", reason: state.reason }
    return state._tag === "Sessionless"
      ? { _tag: "StatelessModeNotSupported" }
      : { _tag: "NotAllowed", state: state._tag }
  }

  /** The params as this peer's revision has them. */
  #fitting(method: string, params: JsonRpc.Params): JsonRpc.Params {
    return Outgoing.fitting(method, params, this.#parties.peer(), this.#parties.projection)
  }

  /** What stands against asking this of this peer; first what stands against this very question, which says most. */
  #refusal(row: Outgoing.Gate, params: object): RequestError.RequestErrorReason | undefined {
    return SemanticChecks.find(row.name)?.(params, this.#parties.peer()) ??
      Outgoing.obstacle(row, this.#parties.peer(), ({ capabilities }) => capabilities)
  }

  #reportFailure(message: JsonRpc.Message, exit: Exit.Exit<void, TransportError>): void {
    const error = Outbox.errorOf(exit)
    if (error !== undefined) this.#core.failedToSend(message, error)
  }

  /** The transport took the request, could not, or has ended the stream it opened for it. */
  #handedOver(
    exchange: PendingRequests.Exchange,
    message: JsonRpc.Message,
    exit: Exit.Exit<void, TransportError>
  ): void {
    if (exchange.outcome !== "Pending") return
    const streamed = this.#core.connection.request !== undefined
    const error = streamed && Exit.isSuccess(exit)
      ? new TransportError({ reason: { _tag: "ExchangeEnded" } })
      : Outbox.errorOf(exit)
    if (error === undefined) return
    PendingRequests.fail(
      exchange,
      error.reason._tag === "ExchangeEnded" ? { _tag: "OutcomeUnknown", error } : { _tag: "SendFailed", error }
    )
    // A stream of its own that fails is this exchange's trouble alone.
    if (streamed) this.#core.emit({ _tag: "SendFailed", method: exchange.method, error })
    else this.#core.failedToSend(message, error)
  }

  /**
   * The caller no longer waits. Unless the exchange is over, the request is taken back, or, if the peer may have seen it,
   * cancelled. The handshake is never cancelled (CAN-02).
   */
  #abandon(entry: Lane.Entry | undefined, exchange: PendingRequests.Exchange): void {
    const core = this.#core
    const { outbox } = core
    if (exchange.outcome === "Answered" || exchange.outcome === "Lost") return
    const reason = exchange.outcome === "Pending"
      ? "no longer wanted"
      : "reason" in core.state()
      ? "the session is closing"
      : `no response within ${PendingRequests.waited(exchange)} ms`
    exchange.outcome = "Abandoned"
    if (entry !== undefined && !outbox.withdraw(entry) && exchange.method !== "initialize") {
      const message = JsonRpc.notification("notifications/cancelled", { requestId: exchange.id, reason })
      outbox.offer(
        Lane.entry({ message, replyTo: entry.outbound.replyTo, last: false }, {
          done: (exit) => {
            if (Exit.isSuccess(exit)) {
              core.emit({ _tag: "CancelSent", method: exchange.method, id: exchange.id, reason })
            } else this.#reportFailure(message, exit)
          }
        })
      )
    }
    exchange.stream?.interruptUnsafe()
  }

  #send<R>(
    row: Outgoing.Gate,
    params: object,
    hold: boolean,
    allowedMillis: number,
    totalMillis: number,
    options: SendOptions<R> | undefined
  ): Effect.Effect<JsonRpc.Success, RequestError.RequestError, R> {
    const { budget, exchanges, limits, outbox, timer } = this.#core
    const method = row.name
    const onProgress = options?.onProgress
    let opened: PendingRequests.Exchange | undefined
    let entry: Lane.Entry | undefined
    const own = (exchange: PendingRequests.Exchange) => {
      opened = exchange
    }
    // Between opening the exchange and sending the request, the fiber may be interrupted, and the session may end.
    const exchanged = Effect.suspend((): Effect.Effect<JsonRpc.Success, RequestError.RequestError, R> => {
      // Read before anything is opened, because reading them may throw.
      const given = this.#fitting(method, Outgoing.copy(params))
      const now = timer.now()
      const total = now + totalMillis
      const opening = exchanges.open({
        method,
        progress: onProgress === undefined
          ? undefined
          : ProgressMailbox.make({ capacity: limits.maxProgressSteps, bytes: limits.maxNotificationBytes, budget }),
        openedAt: now,
        deadline: Math.min(now + allowedMillis, total),
        allowedMillis,
        extendsTo: options?.extendOnProgress === true ? total : undefined,
        onAnswer: options?.onAnswer
      }, own)
      return Effect.flatMap(opening, (exchange) => {
        if (!PendingRequests.isExchange(exchange)) return Effect.fail(closedError(method, exchange))
        options?.onOpen?.(exchange.id)
        const enter = (fit: JsonRpc.Params) => {
          // The progress token is the request id.
          const token = onProgress === undefined ? undefined : exchange.id
          const message = JsonRpc.request(exchange.id, method, Outgoing.params(fit, options?.meta, token))
          entry = Lane.entry(
            { message, replyTo: options?.replyTo, last: false },
            { exchange, done: (exit) => this.#handedOver(exchange, message, exit) }
          )
          outbox.offer(entry)
        }
        // The session may have ended since the exchange was opened; then it has failed, and nothing is sent.
        if (exchange.outcome === "Pending") {
          if (hold) {
            const held: Held = {
              obstacle: () => this.#refusal(row, given),
              // The client's revision was not known before.
              enter: () => enter(this.#fitting(method, given))
            }
            // The peer may have become ready since the request was admitted; then nothing else would send it.
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
          // All progress comes before the response, and a failure does not wait for the progress sink.
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
      this.#held?.delete(opened)
      if (opened.stream !== undefined) outbox.releaseStream(opened.stream)
      return exchanges.remove(opened)
    })
  }

  #exchange<Params extends object, Result, R>(
    row: MethodDefinition.RequestMethod<string, MethodDefinition.Sender, Params, Result>,
    params: Params,
    options: SendOptions<R> | undefined
  ): Effect.Effect<Result, RequestError.RequestError, R> {
    const { checking } = this.#parties
    if (checking === undefined) return this.#unchecked(row, params, options)
    return checking((row, params, options) => this.#unchecked(row, params, options))(row, params, options)
  }

  #unchecked<Params extends object, Result, R>(
    row: MethodDefinition.RequestMethod<string, MethodDefinition.Sender, Params, Result>,
    params: Params,
    options: SendOptions<R> | undefined
  ): Effect.Effect<Result, RequestError.RequestError, R> {
    return Effect.suspend(() => {
      const { limits } = this.#core
      const fail = (reason: RequestError.RequestErrorReason) => Effect.fail(RequestError.make(row.name, reason))
      const admission = this.#admit(options?.event ?? (row.name === "ping" ? sendPing : sendRequest))
      if (typeof admission === "object") return fail(admission)
      const blocked = this.#refusal(row, params)
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
      const sent = this.#send(row, params, admission === "Hold", allowedMillis, totalMillis, options)
      return Effect.flatMap(sent, (success) => {
        const fits = validate(row.result)
        const received = fits(success.result)
        const result = Result.isSuccess(received) ? received : this.#meant(row, success.result, fits) ?? received
        if (Result.isFailure(result)) return fail({ _tag: "InvalidResult", problem: result.failure })
        const problem = SemanticChecks.problemOf(row.name, params, result.success)
        return problem === undefined ? Effect.succeed(result.success) : fail({ _tag: "InvalidResult", problem })
      })
    })
  }

  /** A result that does not fit its schema, read as it was meant where there is no doubt. */
  #meant<A>(row: Outgoing.Gate, result: unknown, fits: Validate<A>): Result.Result<A, string> | undefined {
    const meant = Tolerance.meantBy(row, result)
    if (meant === undefined) return undefined
    const read = fits(meant.result)
    if (Result.isSuccess(read)) this.#core.emit({ _tag: "Tolerated", method: row.name, problem: meant.problem })
    return read
  }

  /** What middleware needs was captured when the session was made; what the caller has comes first. */
  #provided<A, E, R>(effect: Effect.Effect<A, E, unknown>): Effect.Effect<A, E, R> {
    // A caller without a span begins a trace; it does not go on with that in which the session was made, nor with its baggage.
    const services = this.#services ??= Context.omit(Tracer.ParentSpan, Baggage)(this.#core.context)
    return trust(Effect.updateContext(effect, (caller) => Context.merge(services, caller)))
  }

  /** Hands a message that expects no response to the outbox, and waits until it is sent or there is room for others. */
  #post(
    name: string,
    message: JsonRpc.Message,
    replyTo: StreamOrigin | undefined
  ): Effect.Effect<void, RequestError.RequestError> {
    return Effect.suspend(() => {
      const { outbox } = this.#core
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
          const state = this.#core.state()
          return RequestError.make(
            name,
            "reason" in state ? { _tag: "Closed", reason: state.reason } : { _tag: "SendFailed", error }
          )
        })
      )
    })
  }
}

/** What is wrong with a step of progress, which its receiver would drop. */
const problemOfStep = ({ progress, total }: Progress.Progress, highest: number): string | undefined => {
  if (!Number.isFinite(progress)) return `progress: expected a finite number, got ${progress}`
  if (total !== undefined && !Number.isFinite(total)) return `total: expected a finite number, got ${total}`
  return progress > highest ? undefined : `progress: expected more than ${highest}, the last step, got ${progress}`
}

const closedError = (method: string, reason: CloseReason.CloseReason) =>
  RequestError.make(method, { _tag: "Closed", reason })

/**
 * The requests and notifications that a session sends.
 *
 * Sending a request once is a function of `RequestSender`. Everything else stands around it in layers, which the side
 * of the session adds when it knows its peer:
 *
 *     request ─► middleware ─► layers of requests ─► checks, deadline ─► layers of attempts ─► RequestSender.send
 *     result  ◄─ middleware ◄─ layers of requests ◄─ checks of the result ◄─ layers of attempts ◄──────┘
 *
 * Middleware and a layer of requests see typed params and the typed result. A layer of attempts sees the response, and
 * may send the request again: within the same deadline, and with the next id.
 */

import { type JsonRpc, type Meta, type MethodDefinition, MethodTable, type Progress } from "@effect-mcp/protocol"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Result from "effect/Result"
import type * as Middleware from "../../Middleware.ts"
import * as RequestError from "../../RequestError.ts"
import type { StreamOrigin } from "../../Transport.ts"
import type { TransportError } from "../../TransportError.ts"
import { trust } from "../trust.ts"
import * as Deadline from "./Deadline.ts"
import * as Lane from "./Lane.ts"
import type { Layers, Request, RequestLayer } from "./Layers.ts"
import * as OutboundMiddleware from "./OutboundMiddleware.ts"
import * as Outbox from "./Outbox.ts"
import * as Outgoing from "./Outgoing.ts"
import { type Call, type KnownPeer, RequestSender, type Send, type SendOptions } from "./RequestSender.ts"
import * as SemanticChecks from "./SemanticChecks.ts"
import type { AnySessionRuntime } from "./SessionRuntime.ts"
import * as Tolerance from "./Tolerance.ts"
import { type Validate, validate } from "./validation.ts"

/** The side of the session that sends. */
export interface SenderDependencies extends KnownPeer {
  /** The capabilities that this side declares. */
  readonly declared: Outgoing.Declared
  /** The middleware of all requests except those of the handshake. It is the outermost layer. */
  readonly middleware: Middleware.OutboundMiddleware<unknown> | undefined
}

/** Sends requests and notifications of this side. */
export class Sender {
  readonly #runtime: AnySessionRuntime
  readonly #dependencies: SenderDependencies
  readonly #once: RequestSender
  #middleware: RequestLayer | undefined
  #request: Request | undefined
  #attempt: Send = (call) => this.#once.send(call)

  constructor(runtime: AnySessionRuntime, dependencies: SenderDependencies) {
    this.#runtime = runtime
    this.#dependencies = dependencies
    this.#once = new RequestSender(runtime, dependencies)
    if (dependencies.middleware !== undefined) {
      this.#middleware = OutboundMiddleware.layer(dependencies.middleware, runtime.context, () => dependencies.peer())
      this.#request = this.#middleware((row, params, options) => this.exchange(row, params, options))
    }
  }

  /** Puts layers around the requests of the program, because the peer is known. */
  wrap({ attempts, requests }: Layers): void {
    this.#attempt = attempts.reduceRight((send, layer) => layer(send), this.#attempt)
    const exchange: Request = (row, params, options) => this.exchange(row, params, options)
    const layered = requests.reduceRight((send, layer) => layer(send), exchange)
    this.#request = this.#middleware === undefined ? layered : this.#middleware(layered)
  }

  /** Passes a request through the middleware, and then does what carries it out, instead of sending it. */
  around<Params extends object, Result, R = never>(
    row: MethodDefinition.RequestMethod<string, MethodDefinition.Sender, Params, Result>,
    params: Params,
    carryOut: (params: Params) => Effect.Effect<Result, RequestError.RequestError, R>
  ): Effect.Effect<Result, RequestError.RequestError, R> {
    if (this.#middleware === undefined) return carryOut(params)
    // Middleware passes the row on, and params of the row.
    return this.#middleware(trust<Request>((_: typeof row, sent: Params) => carryOut(sent)))(row, params)
  }

  /** Sends a request and waits for its result. */
  request<Params extends object, Result, R = never>(
    row: MethodDefinition.RequestMethod<string, MethodDefinition.Sender, Params, Result>,
    params: Params,
    options?: SendOptions<R>
  ): Effect.Effect<Result, RequestError.RequestError, R> {
    return this.#request === undefined
      ? this.exchange(row, params, options)
      : this.#request(row, params, options)
  }

  /**
   * Sends a request below the layers of requests, and waits for its result: a request of the handshake, or one that the
   * session sends by itself.
   */
  exchange<Params extends object, Result, R = never>(
    row: MethodDefinition.RequestMethod<string, MethodDefinition.Sender, Params, Result>,
    params: Params,
    options: SendOptions<R> = {}
  ): Effect.Effect<Result, RequestError.RequestError, R> {
    return Effect.suspend(() => {
      const fail = (reason: RequestError.RequestErrorReason) => Effect.fail(RequestError.make(row.name, reason))
      const admission = options.admit === undefined
        ? Outgoing.admitRequest(this.#runtime, row.name === "ping" ? Outgoing.sendPing : Outgoing.sendRequest)
        : options.admit()
      if (typeof admission === "object") return fail(admission)
      const takesTask = options.isTask === true || Outgoing.returnsTask(row)
      const blocked = (takesTask ? undefined : SemanticChecks.validateNoTask(row.name, params)) ??
        Outgoing.validateRequest(row, params, this.#dependencies.peer())
      if (blocked !== undefined) return fail(blocked)
      const deadline = Deadline.make(options, this.#runtime.limits, this.#runtime.timer.now())
      if (deadline === undefined) return fail({ _tag: "Timeout", afterMillis: 0 })
      const call: Call<R> = {
        row,
        params,
        options,
        isHeld: Outgoing.isHeld(admission),
        takesTask,
        deadline,
        progress: { highest: Number.NEGATIVE_INFINITY },
        metadata: options.metadata
      }
      return Effect.flatMap(this.#attempt(call), ({ result: given }) => {
        const fits = validate(row.result)
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

  /** Sends the held requests, because the peer is ready. */
  release(): void {
    this.#once.release()
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
          const error = Outbox.errorOf(exit)
          if (error !== undefined) this.#runtime.failedToSend(message, error)
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

/** Returns why the receiver of a step of progress would drop it. */
const validateStep = ({ progress, total }: Progress.Progress, highest: number): string | undefined => {
  if (!Number.isFinite(progress)) return `progress: expected a finite number, got ${progress}`
  if (total !== undefined && !Number.isFinite(total)) return `total: expected a finite number, got ${total}`
  return progress > highest ? undefined : `progress: expected more than ${highest}, the last step, got ${progress}`
}

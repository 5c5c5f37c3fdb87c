/** The repetition of answers and cancellations that the server has not acknowledged. */
import type { JsonRpc } from "@effect-mcp/protocol"
import type * as MemoryBudget from "@effect-mcp/session/MemoryBudget"
import type { Inbound } from "@effect-mcp/session/Transport"
import type * as TransportError from "@effect-mcp/session/TransportError"
import * as Effect from "effect/Effect"
import type * as Fiber from "effect/Fiber"
import * as Predicate from "effect/Predicate"
import * as Result from "effect/Result"
import type * as Scope from "effect/Scope"
import type { ClientState } from "./ClientState.ts"

/** The number of messages of one connection that are repeated at the same time. A further one fails at once. */
const maxMessages = 256

const cancelled = "notifications/cancelled"

/** The statuses of a server, or of a gateway before it, that may accept the message later. */
const passingStatuses: ReadonlySet<number> = new Set([429, 502, 503, 504])

/** Returns whether the server may receive a message twice, without another effect than receiving it once. */
export const isRepeatable = (frame: JsonRpc.Frame): boolean => !("method" in frame) || frame.method === cancelled

/** Returns whether another attempt may succeed. */
const isPassing = ({ reason }: TransportError.TransportError): boolean => {
  switch (reason._tag) {
    case "ConnectFailed":
      return reason.isPermanent !== true
    case "ExchangeEnded":
      return true
    case "Rejected":
      return passingStatuses.has(reason.status)
    default:
      return false
  }
}

/** Returns the id of the question that a message of the server cancels, if it cancels one. */
const cancelledBy = (message: unknown): unknown =>
  Predicate.hasProperty(message, "method") && message.method === cancelled &&
    Predicate.hasProperty(message, "params") && Predicate.hasProperty(message.params, "requestId")
    ? message.params.requestId
    : undefined

/** A message that is sent again. */
interface Repeated {
  readonly method: string | undefined
  /** The id of the question that it answers, if it is one answer. */
  readonly question: unknown
  readonly bytes: number
  /** The failure of the last attempt. */
  error: TransportError.TransportError
  fiber: Fiber.Fiber<void> | undefined
}

/**
 * Sends answers and cancellations again. A server takes the answer to a question once, by its id, and a cancellation
 * changes nothing the second time. If one was lost, its call would wait, or run on.
 */
export class Repetitions {
  readonly #state: ClientState
  readonly #scope: Scope.Scope
  readonly #account: MemoryBudget.Account
  readonly #messages = new Set<Repeated>()

  /** Messages are repeated until the scope closes, at most. */
  constructor(state: ClientState, scope: Scope.Scope, budget: MemoryBudget.MemoryBudget) {
    this.#state = state
    this.#scope = scope
    this.#account = budget.open({ isUnread: true, yields: () => this.#yield() })
  }

  /**
   * Handles the failure of a message that {@link isRepeatable}. If another attempt may succeed, the message is sent
   * again in the background, with the delays of reconnections, and the event `SendFailed` reports the last failure.
   * Otherwise fails with the error. Later messages do not wait for it.
   */
  begin(
    frame: JsonRpc.Frame,
    json: string,
    error: TransportError.TransportError,
    send: Effect.Effect<void, TransportError.TransportError>
  ): Effect.Effect<void, TransportError.TransportError> {
    return Effect.suspend(() => {
      const isPossible = isPassing(error) && this.#state.settings.reconnect.maxAttempts > 0 &&
        this.#messages.size < maxMessages && this.#account.take(json.length)
      if (!isPossible) return Effect.fail(error)
      const message: Repeated = {
        method: "method" in frame ? frame.method : undefined,
        question: "id" in frame && !("method" in frame) ? frame.id : undefined,
        bytes: json.length,
        error,
        fiber: undefined
      }
      this.#messages.add(message)
      this.#state.watch = this.#stopAnswered
      return Effect.map(
        Effect.forkIn(this.#repeat(message, send), this.#scope),
        (fiber) => {
          message.fiber = fiber
          fiber.addObserver(() => this.#end(message))
        }
      )
    })
  }

  #repeat(message: Repeated, send: Effect.Effect<void, TransportError.TransportError>): Effect.Effect<void> {
    const { reconnect } = this.#state.settings
    return Effect.gen({ self: this }, function*() {
      for (let attempt = 0; attempt < reconnect.maxAttempts && isPassing(message.error); attempt++) {
        const { reason } = message.error
        yield* Effect.sleep(reconnect.millis({
          withoutEvent: attempt,
          withoutMessage: 0,
          retryMillis: undefined,
          retryAfterMillis: reason._tag === "Rejected" ? reason.retryAfterMillis : undefined
        }))
        const outcome = yield* Effect.result(send)
        if (Result.isSuccess(outcome)) return
        message.error = outcome.failure
      }
      this.#reportFailure(message)
    })
  }

  #reportFailure({ error, method }: Repeated): void {
    this.#state.report({ _tag: "SendFailed", method, error })
  }

  /** Stops the answers to the questions that a frame of the server cancels. */
  readonly #stopAnswered = ({ frame }: Inbound): void => {
    if (Result.isFailure(frame)) return
    const messages: ReadonlyArray<unknown> = Array.isArray(frame.success) ? frame.success : [frame.success]
    for (const one of messages) {
      const id = cancelledBy(one)
      if (id === undefined) continue
      for (const message of this.#messages) if (message.question === id) this.#stop(message)
    }
  }

  /** Stops the largest message, because the memory budget is exhausted. */
  #yield(): void {
    let largest: Repeated | undefined
    for (const message of this.#messages) if (message.bytes > (largest?.bytes ?? 0)) largest = message
    if (largest === undefined) return
    this.#stop(largest)
    this.#reportFailure(largest)
  }

  #stop(message: Repeated): void {
    this.#end(message)
    message.fiber?.interruptUnsafe()
  }

  #end(message: Repeated): void {
    if (!this.#messages.delete(message)) return
    this.#account.release(message.bytes)
    if (this.#messages.size === 0) this.#state.watch = undefined
  }
}

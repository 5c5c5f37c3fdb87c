/**
 * The table of requests of this side that wait for their responses.
 *
 * The table is a `HashMap` in a `Ref`, keyed by request id. It is open, or closed with a reason. Each change is one
 * `Ref.modify` or `Ref.update` in the fiber of the caller, and between two of these a fiber may be interrupted.
 * Therefore `open` hands a new exchange to its owner inside the function given to `Ref.modify`: from that moment the
 * owner's finalizer removes it. The read loop only reads the table and completes Deferreds.
 */
import { type CloseReason, JsonRpc, McpError, type RequestId } from "@effect-mcp/protocol"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type * as Fiber from "effect/Fiber"
import * as HashMap from "effect/HashMap"
import * as Option from "effect/Option"
import * as Ref from "effect/Ref"
import * as RequestError from "../../RequestError.ts"
import * as TransportError from "../../TransportError.ts"
import type { ProgressMailbox } from "./ProgressMailbox.ts"

/** A request of this side that waits for its one response. */
export interface Exchange {
  readonly id: RequestId.RequestId
  readonly method: string
  /** Completed once: by the response, the timeout, a failed write, or the end of the session. */
  readonly response: Deferred.Deferred<JsonRpc.Success, RequestError.RequestError>
  readonly progress: ProgressMailbox | undefined
  /** The time at which it was opened, on the timer's clock. */
  readonly openedAt: number
  /** The time at which it times out, on the same clock; `Infinity` for never. */
  deadline: number
  readonly allowedMillis: number
  /** The latest deadline, if progress extends the deadline; `undefined` if it does not. */
  readonly extendsTo: number | undefined
  /** Receives the response in the step in which it arrives, before the next frame is read. */
  readonly onResponse: ((response: JsonRpc.Response) => void) | undefined
  /** Whether the request becomes a task. */
  readonly isTask?: boolean | undefined
  /** A question that the next owner of a session waits for, if the session moves. */
  readonly movable?: MovableQuestion | undefined
  /** `Answered` by the peer, `Abandoned` by this side while the peer may still work on it, or `Lost`. */
  outcome: "Pending" | "Answered" | "Abandoned" | "Lost"
  /** Whether the transport has received the request, so that the peer may have seen it. */
  handed: boolean
  /** Fails if the exchange ends without a response. It exists only if the caller receives progress. */
  readonly unanswered: Deferred.Deferred<never, RequestError.RequestError> | undefined
  /** The fiber that holds the stream of this request, if the transport opens one per request. */
  stream: Fiber.Fiber<void, unknown> | undefined
}

/** A question that is stored, so that the next owner of its session can wait for the answer. */
export interface MovableQuestion {
  /** The id, which is stored before the question is sent. */
  readonly id: RequestId.RequestId
  /** Whether an earlier owner has sent it. */
  readonly isSent: boolean
  /** Called when the transport has received it. */
  readonly onSent: () => void
  /**
   * Called with each response, before the question is answered. `acknowledge` says whether the response is stored. One
   * that is stored answers the question, and the sender of another one sends it again.
   */
  readonly onAnswer: (response: JsonRpc.Response, acknowledge: (isStored: boolean) => void) => void
  /** Returns whether a response is being stored: the caller may go on before it is acknowledged. */
  readonly isAnswered: () => boolean
}

/** The exchanges by request id, until the session ends. */
type Table =
  | { readonly _tag: "Open"; readonly exchanges: HashMap.HashMap<RequestId.RequestId, Exchange> }
  | { readonly _tag: "Closed"; readonly reason: CloseReason.CloseReason }

const settle = (
  exchange: Exchange,
  outcome: Exclude<Exchange["outcome"], "Pending">,
  exit: Exit.Exit<JsonRpc.Success, RequestError.RequestError>
): boolean => {
  if (exchange.outcome !== "Pending") return false
  exchange.outcome = outcome
  if (outcome !== "Answered" && exchange.unanswered !== undefined && Exit.isFailure(exit)) {
    Deferred.doneUnsafe(exchange.unanswered, Exit.failCause(exit.cause))
  }
  // The mailbox ends first. Otherwise the fiber that the response wakes could miss a step of progress before it.
  exchange.progress?.end()
  return Deferred.doneUnsafe(exchange.response, exit)
}

/** Completes an exchange with the peer's response. A later completion changes nothing and returns `false`. */
export const complete = (exchange: Exchange, response: JsonRpc.Response): boolean => {
  if (exchange.outcome === "Pending") exchange.onResponse?.(response)
  return settle(
    exchange,
    "Answered",
    JsonRpc.isFailure(response)
      ? Exit.fail(RequestError.make(exchange.method, reasonOf(McpError.received(response.error))))
      : Exit.succeed(response)
  )
}

/** Returns the failure of a request that the peer answered with an error. */
const reasonOf = (error: McpError.McpError): RequestError.RequestErrorReason =>
  McpError.isOutcomeUnknown(error)
    ? { _tag: "OutcomeUnknown", error: TransportError.make({ _tag: "ExchangeEnded", cause: error }) }
    : { _tag: "ErrorResponse", error }

/** Completes an exchange with a message that names its id and is not a valid response. */
export const completeMalformed = (exchange: Exchange, problem: string): boolean =>
  settle(
    exchange,
    "Answered",
    Exit.fail(RequestError.make(exchange.method, { _tag: "MalformedResponse", problem }))
  )

/** Returns whether this side stops waiting while the peer may still work on the request. */
const isAbandonment = (reason: RequestError.RequestErrorReason): boolean =>
  reason._tag === "Timeout" || (reason._tag === "Closed" && reason.reason._tag === "Requested")

/** Returns the time that the exchange could take, extensions included: in milliseconds, to the microsecond. */
export const waited = ({ deadline, openedAt }: Exchange): number => Math.round((deadline - openedAt) * 1000) / 1000

/** Completes an exchange with a failure of this side. */
export const fail = (exchange: Exchange, reason: RequestError.RequestErrorReason): boolean =>
  settle(
    exchange,
    isAbandonment(reason) ? "Abandoned" : "Lost",
    Exit.fail(RequestError.make(exchange.method, reason))
  )

/** Returns whether an exchange was opened, or the table is closed for this reason. */
export const isExchange = (opened: Exchange | CloseReason.CloseReason): opened is Exchange => "response" in opened

/** The number of abandoned requests whose ids are stored. */
const maxAbandoned = 1024

/** The properties of an exchange that its caller chooses. */
export type CallOptions = Pick<
  Exchange,
  "method" | "progress" | "openedAt" | "deadline" | "allowedMillis" | "extendsTo" | "onResponse" | "isTask" | "movable"
>

const empty: Table = { _tag: "Open", exchanges: HashMap.empty() }

/**
 * The requests of this side that are in flight. Ids match with their type: `1` is not `"1"`. The progress token of a
 * request is its id, so `find` matches progress notifications, too.
 */
export class PendingRequests {
  readonly #table = Ref.makeUnsafe<Table>(empty)
  readonly #firstId: number
  readonly #life: string | undefined
  #nextId: number
  /** The progress of requests that were answered with a task, by their tokens. */
  #followed: Map<RequestId.RequestId, ProgressMailbox> | undefined
  /** The newest abandoned requests. They distinguish a late response from a duplicate. */
  #abandoned: Set<RequestId.RequestId> | undefined

  /** Each id begins with `life`, if the session may have had requests in another process, and is a number otherwise. */
  constructor(firstId: number, life?: string) {
    this.#firstId = firstId
    this.#nextId = firstId
    this.#life = life
  }

  get size(): number {
    return HashMap.size(this.#current)
  }

  /**
   * Opens an exchange under the next id, and hands it to `own` in the same step. A closed table returns its reason
   * instead, so that no exchange is opened after `close` has failed all of them.
   */
  open(options: CallOptions, own: (exchange: Exchange) => void): Effect.Effect<Exchange | CloseReason.CloseReason> {
    return Ref.modify<Table, Exchange | CloseReason.CloseReason>(this.#table, (state) => {
      if (state._tag === "Closed") return [state.reason, state]
      const { allowedMillis, deadline, extendsTo, isTask, method, movable, onResponse, openedAt, progress } = options
      const exchange: Exchange = {
        id: movable?.id ?? this.nextId(),
        method,
        response: Deferred.makeUnsafe(),
        progress,
        deadline,
        openedAt,
        allowedMillis,
        extendsTo,
        onResponse,
        isTask,
        movable,
        outcome: "Pending",
        handed: movable?.isSent === true,
        unanswered: progress === undefined ? undefined : Deferred.makeUnsafe(),
        stream: undefined
      }
      own(exchange)
      return [exchange, { _tag: "Open", exchanges: HashMap.set(state.exchanges, exchange.id, exchange) }]
    })
  }

  /** Returns an id that was not used before, without opening an exchange. */
  nextId(): RequestId.RequestId {
    return this.#life === undefined ? this.#nextNumber() : this.#life + this.#nextNumber()
  }

  #nextNumber(): number {
    return this.#nextId++
  }

  /** Returns the exchange with this request id, which is its progress token, too. */
  find(id: RequestId.RequestId): Exchange | undefined {
    return Option.getOrUndefined(HashMap.get(this.#current, id))
  }

  /** Returns the exchange, if there is exactly one. */
  get only(): Exchange | undefined {
    if (HashMap.size(this.#current) !== 1) return undefined
    const [only] = HashMap.values(this.#current)
    return only
  }

  /** Passes the progress of an answered request on, because the request became a task (PRG-08). */
  follow(token: RequestId.RequestId, progress: ProgressMailbox): void {
    this.#followed ??= new Map()
    this.#followed.set(token, progress)
  }

  /** Ends the passing on of progress. */
  unfollow(token: RequestId.RequestId): void {
    this.#followed?.delete(token)
  }

  /** Returns the mailbox for the progress of an answered request. */
  followed(token: RequestId.RequestId): ProgressMailbox | undefined {
    return this.#followed?.get(token)
  }

  /** Classifies a response whose exchange is not in the table. */
  classify(id: RequestId.RequestId): "Late" | "Duplicate" | "Unknown" {
    const number = this.#numberOf(id)
    if (number < this.#firstId || number >= this.#nextId) return "Unknown"
    return this.#abandoned?.has(id) === true ? "Late" : "Duplicate"
  }

  /** Removes an exchange; the owner's finalizer runs it. */
  remove(exchange: Exchange): Effect.Effect<void> {
    return Ref.update(this.#table, (state): Table => {
      if (exchange.outcome === "Abandoned") this.#storeAbandoned(exchange)
      return state._tag === "Closed"
        ? state
        : { _tag: "Open", exchanges: HashMap.remove(state.exchanges, exchange.id) }
    })
  }

  /** Fails the exchanges whose deadline has passed, and returns the next deadline. */
  expire(now: number): number {
    let next = Number.POSITIVE_INFINITY
    for (const exchange of HashMap.values(this.#current)) {
      if (exchange.deadline > now) next = Math.min(next, exchange.deadline)
      else fail(exchange, { _tag: "Timeout", afterMillis: waited(exchange) })
    }
    return next
  }

  /**
   * Closes the table, and fails all exchanges. It runs the `Ref` itself, because a callback without a fiber calls it.
   */
  close(reason: CloseReason.CloseReason): void {
    const closed = Effect.runSync(Ref.modify<Table, HashMap.HashMap<RequestId.RequestId, Exchange>>(
      this.#table,
      (state) =>
        state._tag === "Closed"
          ? [HashMap.empty(), state]
          : [state.exchanges, { _tag: "Closed", reason }]
    ))
    for (const exchange of HashMap.values(closed)) fail(exchange, { _tag: "Closed", reason, isSent: exchange.handed })
  }

  /** Returns the number in an id of this table; -1 if it is no such id. */
  #numberOf(id: RequestId.RequestId): number {
    if (typeof id === "number") return this.#life === undefined ? id : -1
    if (this.#life === undefined || !id.startsWith(this.#life)) return -1
    const number = Number(id.slice(this.#life.length))
    return id === this.#life + number ? number : -1
  }

  #storeAbandoned({ id }: Exchange): void {
    this.#abandoned ??= new Set()
    this.#abandoned.add(id)
    if (this.#abandoned.size > maxAbandoned) this.#abandoned.delete(this.#abandoned.values().next().value ?? id)
  }

  get #current(): HashMap.HashMap<RequestId.RequestId, Exchange> {
    const state = Ref.getUnsafe(this.#table)
    return state._tag === "Open" ? state.exchanges : HashMap.empty()
  }
}

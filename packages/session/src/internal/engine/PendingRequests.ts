import { type CloseReason, JsonRpc, McpError, type RequestId } from "@effect-mcp/protocol"
import * as Deferred from "effect/Deferred"
import * as Exit from "effect/Exit"
import type * as Fiber from "effect/Fiber"
import * as HashMap from "effect/HashMap"
import * as Option from "effect/Option"
import * as Ref from "effect/Ref"
import * as RequestError from "../../RequestError.ts"
import { modifyUnsafe } from "../collections/modify.ts"
import type { ProgressMailbox } from "./ProgressMailbox.ts"

/**
 * One request of this side, waiting for its one response.
 */
export interface Exchange {
  readonly id: RequestId.RequestId
  readonly method: string
  /** Completed once: by the response, the deadline, a failed write, or the end of the session. */
  readonly response: Deferred.Deferred<JsonRpc.Success, RequestError.RequestError>
  readonly progress: ProgressMailbox | undefined
  /** When it was opened, on the timer's clock. */
  readonly openedAt: number
  /** When it is given up, on the same clock; `Infinity` for never. */
  deadline: number
  readonly allowedMillis: number
  /** When it is given up whatever its progress, if progress puts the deadline off; `undefined` if it does not. */
  readonly extendsTo: number | undefined
  /** Sees the response in the very step it arrives in, before anything behind it is read. */
  readonly onAnswer: ((response: JsonRpc.Response) => void) | undefined
  /** How it ended, if it has: answered by the peer, given up while the peer may still work on it, or lost. */
  outcome: "Pending" | "Answered" | "Abandoned" | "Lost"
  /** The transport has been given the request, so that the peer may have seen it. */
  handed: boolean
  /** Completed when this side gives the exchange up, and only then; made where somebody may be busy with its progress. */
  readonly givenUp: Deferred.Deferred<never, RequestError.RequestError> | undefined
  /** The fiber that holds this exchange's own stream, where the transport opens one per request. */
  stream: Fiber.Fiber<void, unknown> | undefined
}

/** The exchanges by id, until there will be no more. */
export type Table =
  | { readonly _tag: "Open"; readonly exchanges: HashMap.HashMap<RequestId.RequestId, Exchange> }
  | { readonly _tag: "Closed"; readonly reason: CloseReason.CloseReason }

const complete = (
  exchange: Exchange,
  outcome: Exclude<Exchange["outcome"], "Pending">,
  exit: Exit.Exit<JsonRpc.Success, RequestError.RequestError>
): boolean => {
  if (exchange.outcome !== "Pending") return false
  exchange.outcome = outcome
  if (outcome !== "Answered" && exchange.givenUp !== undefined && Exit.isFailure(exit)) {
    Deferred.doneUnsafe(exchange.givenUp, Exit.failCause(exit.cause))
  }
  // The mailbox first: whoever is woken by the response must find every step of progress before it.
  exchange.progress?.end()
  return Deferred.doneUnsafe(exchange.response, exit)
}

/**
 * Completes an exchange with the peer's response. The first completion counts; a later one changes nothing and returns
 * `false`.
 */
export const answer = (exchange: Exchange, response: JsonRpc.Response): boolean => {
  if (exchange.outcome === "Pending") exchange.onAnswer?.(response)
  return complete(
    exchange,
    "Answered",
    JsonRpc.isFailure(response)
      ? Exit.fail(RequestError.make(exchange.method, {
        _tag: "ErrorResponse",
        error: McpError.received(response.error)
      }))
      : Exit.succeed(response)
  )
}

/** Completes an exchange with an answer of the peer's that is no response. Nothing better will come under its id. */
export const answerMalformed = (exchange: Exchange, problem: string): boolean =>
  complete(
    exchange,
    "Answered",
    Exit.fail(RequestError.make(exchange.method, { _tag: "MalformedResponse", problem }))
  )

/** This side gives up, while the peer is there and may be working on it. */
const isAbandonment = (reason: RequestError.RequestErrorReason): boolean =>
  reason._tag === "Timeout" || (reason._tag === "Closed" && reason.reason._tag === "Requested")

/** How long an exchange was allowed to take, as it turned out: in milliseconds, to the microsecond. */
export const waited = ({ deadline, openedAt }: Exchange): number => Math.round((deadline - openedAt) * 1000) / 1000

/** Completes an exchange with a failure that arose on this side. */
export const fail = (exchange: Exchange, reason: RequestError.RequestErrorReason): boolean =>
  complete(
    exchange,
    isAbandonment(reason) ? "Abandoned" : "Lost",
    Exit.fail(RequestError.make(exchange.method, reason))
  )

/** Was an exchange opened, or is there only the reason why none can be? */
export const isExchange = (opened: Exchange | CloseReason.CloseReason): opened is Exchange => "response" in opened

/** How many of the requests that were given up are remembered. */
const remembered = 1024

/** What is said about an exchange that is opened. */
export type Opening = Pick<
  Exchange,
  "method" | "progress" | "openedAt" | "deadline" | "allowedMillis" | "extendsTo" | "onAnswer"
>

const none: Table = { _tag: "Open", exchanges: HashMap.empty() }

/**
 * The requests of this side that are in flight. Matching is by id, type included: `1` is not `"1"`.
 */
export class PendingRequests {
  readonly #table = Ref.makeUnsafe<Table>(none)
  readonly #firstId: number
  #nextId: number
  /** The newest of the requests that were given up, so that a late response is known from one that comes twice. */
  #abandoned: Set<RequestId.RequestId> | undefined

  constructor(firstId: number) {
    this.#firstId = firstId
    this.#nextId = firstId
  }

  get size(): number {
    return HashMap.size(this.#current)
  }

  /** Reserves the next id. Once the table is closed it gives the reason instead, so nothing slips in behind the sweep. */
  open(opening: Opening): Exchange | CloseReason.CloseReason {
    return modifyUnsafe<Table, Exchange | CloseReason.CloseReason>(this.#table, (state) => {
      if (state._tag === "Closed") return [state.reason, state]
      const { allowedMillis, deadline, extendsTo, method, onAnswer, openedAt, progress } = opening
      const exchange: Exchange = {
        id: this.mint(),
        method,
        response: Deferred.makeUnsafe(),
        progress,
        deadline,
        openedAt,
        allowedMillis,
        extendsTo,
        onAnswer,
        outcome: "Pending",
        handed: false,
        givenUp: progress === undefined ? undefined : Deferred.makeUnsafe(),
        stream: undefined
      }
      return [exchange, { _tag: "Open", exchanges: HashMap.set(state.exchanges, exchange.id, exchange) }]
    })
  }

  /** Gives out an id without opening anything. */
  mint(): number {
    return this.#nextId++
  }

  find(id: RequestId.RequestId): Exchange | undefined {
    return Option.getOrUndefined(HashMap.get(this.#current, id))
  }

  /** What a response to an exchange that is no more must be. */
  recall(id: RequestId.RequestId): "Late" | "Duplicate" | "Unknown" {
    if (typeof id !== "number" || id < this.#firstId || id >= this.#nextId) return "Unknown"
    return this.#abandoned?.has(id) === true ? "Late" : "Duplicate"
  }

  remove(exchange: Exchange): void {
    if (exchange.outcome === "Abandoned") {
      this.#abandoned ??= new Set()
      this.#abandoned.add(exchange.id)
      if (this.#abandoned.size > remembered) {
        this.#abandoned.delete(this.#abandoned.values().next().value ?? exchange.id)
      }
    }
    modifyUnsafe<Table, void>(this.#table, (state) =>
      state._tag === "Closed"
        ? [undefined, state]
        : [undefined, { _tag: "Open", exchanges: HashMap.remove(state.exchanges, exchange.id) }])
  }

  /** Ends what is due by now, and says when the next one will be. */
  expire(now: number): number {
    let next = Number.POSITIVE_INFINITY
    for (const exchange of HashMap.values(this.#current)) {
      if (exchange.deadline > now) next = Math.min(next, exchange.deadline)
      else fail(exchange, { _tag: "Timeout", afterMillis: waited(exchange) })
    }
    return next
  }

  /** Ends everything, for good. */
  close(reason: CloseReason.CloseReason): void {
    const swept = modifyUnsafe<Table, HashMap.HashMap<RequestId.RequestId, Exchange>>(
      this.#table,
      (state) =>
        state._tag === "Closed"
          ? [HashMap.empty(), state]
          : [state.exchanges, { _tag: "Closed", reason }]
    )
    for (const exchange of HashMap.values(swept)) fail(exchange, { _tag: "Closed", reason })
  }

  get #current(): HashMap.HashMap<RequestId.RequestId, Exchange> {
    const state = Ref.getUnsafe(this.#table)
    return state._tag === "Open" ? state.exchanges : HashMap.empty()
  }
}

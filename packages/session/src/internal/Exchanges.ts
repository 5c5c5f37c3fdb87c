import { type CloseReason, JsonRpc, McpError, type RequestId } from "@effect-mcp/protocol"
import * as Deferred from "effect/Deferred"
import * as Exit from "effect/Exit"
import type * as Fiber from "effect/Fiber"
import * as HashMap from "effect/HashMap"
import * as Option from "effect/Option"
import * as Ref from "effect/Ref"
import * as RequestError from "../RequestError.ts"
import { modifyUnsafe } from "./modify.ts"
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

/**
 * The requests of this side that are in flight. Matching is by id, type included: `1` is not `"1"`.
 */
export interface Exchanges {
  /** Reserves the next id. Once the table is closed it gives the reason instead, so nothing slips in behind the sweep. */
  readonly open: (options: {
    readonly method: string
    readonly progress: ProgressMailbox | undefined
    readonly openedAt: number
    readonly deadline: number
    readonly allowedMillis: number
    readonly extendsTo: number | undefined
    readonly onAnswer: ((response: JsonRpc.Response) => void) | undefined
  }) => Exchange | CloseReason.CloseReason
  /** Gives out an id without opening anything. */
  readonly mint: () => number
  readonly find: (id: RequestId.RequestId) => Exchange | undefined
  /** What a response to an exchange that is no more must be. */
  readonly recall: (id: RequestId.RequestId) => "Late" | "Duplicate" | "Unknown"
  readonly remove: (exchange: Exchange) => void
  /** Ends what is due by now, and says when the next one will be. */
  readonly expire: (now: number) => number
  /** Ends everything, for good. */
  readonly close: (reason: CloseReason.CloseReason) => void
  readonly size: () => number
}

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

export const make = (firstId: number): Exchanges => {
  const table = Ref.makeUnsafe<Table>({ _tag: "Open", exchanges: HashMap.empty() })
  let nextId = firstId
  // The newest of the requests that were given up, so that a late response is known from one that comes twice.
  const abandoned = new Set<RequestId.RequestId>()

  const current = () => {
    const state = Ref.getUnsafe(table)
    return state._tag === "Open" ? state.exchanges : HashMap.empty<RequestId.RequestId, Exchange>()
  }

  return {
    open: ({ allowedMillis, deadline, extendsTo, method, onAnswer, openedAt, progress }) =>
      modifyUnsafe<Table, Exchange | CloseReason.CloseReason>(table, (state) => {
        if (state._tag === "Closed") return [state.reason, state]
        const exchange: Exchange = {
          id: nextId++,
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
      }),
    mint: () => nextId++,
    find: (id) => Option.getOrUndefined(HashMap.get(current(), id)),
    recall: (id) =>
      typeof id !== "number" || id < firstId || id >= nextId ? "Unknown" : abandoned.has(id) ? "Late" : "Duplicate",
    remove: (exchange) => {
      if (exchange.outcome === "Abandoned") {
        abandoned.add(exchange.id)
        if (abandoned.size > remembered) abandoned.delete(abandoned.values().next().value ?? exchange.id)
      }
      modifyUnsafe<Table, void>(table, (state) =>
        state._tag === "Closed"
          ? [undefined, state]
          : [undefined, { _tag: "Open", exchanges: HashMap.remove(state.exchanges, exchange.id) }])
    },
    expire: (now) => {
      let next = Number.POSITIVE_INFINITY
      for (const exchange of HashMap.values(current())) {
        if (exchange.deadline > now) next = Math.min(next, exchange.deadline)
        else fail(exchange, { _tag: "Timeout", afterMillis: waited(exchange) })
      }
      return next
    },
    close: (reason) => {
      const swept = modifyUnsafe<Table, HashMap.HashMap<RequestId.RequestId, Exchange>>(
        table,
        (state) =>
          state._tag === "Closed"
            ? [HashMap.empty(), state]
            : [state.exchanges, { _tag: "Closed", reason }]
      )
      for (const exchange of HashMap.values(swept)) fail(exchange, { _tag: "Closed", reason })
    },
    size: () => HashMap.size(current())
  }
}

/** The rate of the requests about tasks of each client. */

import { ErrorCode, McpError } from "@effect-mcp/protocol"
import { LeastRecentlyUsed, monotonicMillis, RateLimit } from "@effect-mcp/session/internal"
import { HandlerContext } from "@effect-mcp/session/internalEngine"
import type { RequestContext } from "@effect-mcp/session/RequestContext"
import * as Effect from "effect/Effect"

/** The number of clients whose rates are kept by their names. A forgotten one begins anew. */
const maxClients = 10_000

/** The sender of a request. */
export interface TaskClient {
  readonly principal: string | undefined
  /** Distinguishes clients without a principal. Those that cannot be distinguished have one rate. */
  readonly source?: object | string | undefined
}

/** Returns the sender of the request of a handler. */
export const clientOf = (context: RequestContext["Service"]): TaskClient => ({
  principal: context.principal?.id,
  // A program may have replaced the context.
  source: context instanceof HandlerContext ? context.source : context.session
})

/** The rates of one client. A client that polls too often can still cancel its tasks, and answer their questions. */
interface Rates {
  readonly reads: RateLimit
  readonly changes: RateLimit
}

/** The rates of all clients: of each principal, and of each client without one. */
export class TaskRate {
  readonly #perSecond: number
  readonly #rejection: McpError.McpError
  readonly #named = LeastRecentlyUsed.make<Rates>({ size: maxClients, weight: maxClients })
  readonly #sessions = new WeakMap<object, Rates>()

  constructor(perSecond: number) {
    this.#perSecond = perSecond
    this.#rejection = McpError.received({
      code: ErrorCode.Overloaded,
      message: `Overloaded: a client may send ${perSecond} requests about its tasks each second; wait for the poll ` +
        "interval of a task before the next request for its state"
    })
  }

  /** Runs a request that reads tasks, if its client has not sent too many in this second. It counts as its tasks. */
  limitRead<A, E, R>(client: TaskClient, request: Effect.Effect<A, E, R>, tasks = 1): Limited<A, E, R> {
    return this.#limit(client, "reads", request, Math.min(tasks, this.#perSecond))
  }

  /** Runs a request that changes a task, if its client has not sent too many in this second. */
  limitChange<A, E, R>(client: TaskClient, request: Effect.Effect<A, E, R>): Limited<A, E, R> {
    return this.#limit(client, "changes", request, 1)
  }

  #limit<A, E, R>(
    client: TaskClient,
    kind: keyof Rates,
    request: Effect.Effect<A, E, R>,
    times: number
  ): Limited<A, E, R> {
    return Effect.clockWith((clock): Limited<A, E, R> => {
      const now = monotonicMillis(clock)
      return this.#ratesOf(client)[kind].take(now, times) ? request : Effect.fail(this.#rejection)
    })
  }

  #ratesOf({ principal, source }: TaskClient): Rates {
    if (principal === undefined && typeof source === "object") {
      const rates = this.#sessions.get(source) ?? this.#make()
      this.#sessions.set(source, rates)
      return rates
    }
    const key = JSON.stringify([principal ?? null, principal === undefined ? source ?? null : null])
    const rates = this.#named.get(key) ?? this.#make()
    this.#named.set(key, rates, 1)
    return rates
  }

  #make(): Rates {
    return { reads: new RateLimit(this.#perSecond), changes: new RateLimit(this.#perSecond) }
  }
}

type Limited<A, E, R> = Effect.Effect<A, E | McpError.McpError, R>

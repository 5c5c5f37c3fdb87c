/** The rate of the requests about tasks of each principal. */

import { ErrorCode, McpError } from "@effect-mcp/protocol"
import * as Effect from "effect/Effect"
import * as LeastRecentlyUsed from "../collections/LeastRecentlyUsed.ts"
import { RateLimit } from "../engine/RateLimit.ts"

/** The number of principals whose rates are kept. A forgotten one begins anew. */
const maxPrincipals = 10_000

/** The rates of all principals. Clients without a principal together have one. */
export class TaskRate {
  readonly #perSecond: number
  readonly #rejection: McpError.McpError
  readonly #limits = LeastRecentlyUsed.make<RateLimit>({ size: maxPrincipals, weight: maxPrincipals })

  constructor(perSecond: number) {
    this.#perSecond = perSecond
    this.#rejection = McpError.received({
      code: ErrorCode.Overloaded,
      message: `Overloaded: a client may send ${perSecond} requests about its tasks each second; wait for the poll ` +
        "interval of a task before the next request for its state"
    })
  }

  /** Runs a request about tasks, if its principal has not sent too many in this second. */
  limit<A, E, R>(
    principal: string | undefined,
    request: Effect.Effect<A, E, R>
  ): Effect.Effect<A, E | McpError.McpError, R> {
    return Effect.clockWith((clock): Effect.Effect<A, E | McpError.McpError, R> => {
      const key = JSON.stringify(principal) ?? ""
      const limit = this.#limits.get(key) ?? new RateLimit(this.#perSecond)
      this.#limits.set(key, limit, 1)
      const now = Number(clock.monotonicTimeNanosUnsafe()) / 1_000_000
      return limit.take(now) ? request : Effect.fail(this.#rejection)
    })
  }
}

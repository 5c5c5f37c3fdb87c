/**
 * Middleware that limits how often each principal uses the members of its groups. An entry point of its own, because
 * the rate limiter of Effect that it can use is unstable.
 *
 * @stability unstable
 */
import { ErrorCode, McpError } from "@effect-mcp/protocol"
import { ForeignCall, monotonicMillis } from "@effect-mcp/session/internal"
import * as RequestContext from "@effect-mcp/session/RequestContext"
import * as Clock from "effect/Clock"
import type * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as RateLimiter from "effect/persistence/RateLimiter"
import * as Caller from "./internal/middleware/Caller.ts"
import type * as McpMiddleware from "./McpMiddleware.ts"

/**
 * Options of {@link layer}.
 *
 * @category models
 */
export interface Options {
  /** The uses in each window. */
  readonly limit: number
  readonly window: Duration.Input
  /** The uses that a request counts as. Default: 1, and 0 for the decisions about lists. */
  readonly cost?: (target: McpMiddleware.Target) => number
  /** The callers that are remembered in memory, the last ones. Default 10,000. */
  readonly maxCallers?: number
  /** The time that a shared store has. Default 1 second. */
  readonly storeTimeout?: Duration.Input
  /** `"serve"` serves requests while a shared store fails. Default: `"reject"`. */
  readonly onStoreFailure?: "reject" | "serve"
}

/** Returns the milliseconds until the caller has enough uses again; 0 if it has them now. */
type Consume = (
  caller: string,
  cost: number
) => Effect.Effect<number, RateLimiter.RateLimiterError | ForeignCall.TimedOut>

interface Bucket {
  uses: number
  time: number
}

/**
 * Buckets in memory that fill evenly. The store in memory of Effect keeps every caller for ever, and sessions without a
 * principal are callers.
 */
const inMemory = (limit: number, windowMillis: number, maxCallers: number): Consume => {
  // A map keeps the order of insertion: its first entry is the caller that was served least recently.
  const buckets = new Map<string, Bucket>()
  return (caller, cost) =>
    Effect.map(Clock.Clock, (clock) => {
      const time = monotonicMillis(clock)
      const bucket = buckets.get(caller) ?? { uses: limit, time }
      bucket.uses = Math.min(limit, bucket.uses + (time - bucket.time) * limit / windowMillis)
      bucket.time = time
      buckets.delete(caller)
      buckets.set(caller, bucket)
      if (buckets.size > maxCallers) {
        for (const [first] of buckets) {
          buckets.delete(first)
          break
        }
      }
      if (bucket.uses < cost) return Math.ceil((cost - bucket.uses) * windowMillis / limit)
      bucket.uses -= cost
      return 0
    })
}

/** The buckets of a limiter that the program provides, such as one over Redis. */
const shared =
  (limiter: RateLimiter.RateLimiter, limit: number, windowMillis: number, prefix: string): Consume => (caller, cost) =>
    limiter.consume({
      key: `${prefix} ${caller}`,
      limit,
      window: windowMillis,
      tokens: cost,
      algorithm: "token-bucket"
    })
      .pipe(
        Effect.as(0),
        Effect.catch((error) =>
          error.reason._tag === "RateLimitExceeded"
            ? Effect.succeed(Math.max(1, Duration.toMillis(error.reason.retryAfter)))
            : Effect.fail(error)
        )
      )

const exceeded = (limit: number, windowMillis: number, retryAfterMillis: number): McpError.McpError =>
  new McpError.McpError({
    code: ErrorCode.Overloaded,
    message: `more than ${limit} uses in ${windowMillis} ms; try again in ${retryAfterMillis} ms`,
    data: { retryAfterMillis }
  })

const unavailable = new McpError.McpError({
  code: ErrorCode.Overloaded,
  message: "the rate limit cannot be checked now; try again later"
})

/**
 * Implements a middleware that limits the uses of each caller (TOOL-13, CMP-04): of a principal over all its sessions,
 * or of a session without a principal. The uses of tools, resources, prompts and completions are counted separately,
 * and so are those under each prefix of `McpMount`. A caller may use its whole allowance at once, and then regains it
 * evenly. A use beyond it is rejected with −31010; `data.retryAfterMillis` states when it succeeds.
 *
 * The allowances are in memory. If the context has a `RateLimiter` of `effect/persistence`, they are in its store
 * instead, so that several processes share them.
 *
 * @example
 * ```ts
 * import { McpGroup, McpMiddleware } from "@effect-mcp/server"
 * import * as McpRateLimit from "@effect-mcp/server/McpRateLimit"
 * import * as Tool from "effect/ai/Tool"
 * import * as Effect from "effect/Effect"
 * import * as Layer from "effect/Layer"
 *
 * class Limit extends McpMiddleware.Service<Limit>()("Limit") {}
 *
 * const Search = McpGroup.make("search", Tool.make("search")).middleware(Limit)
 *
 * export const SearchLive = Search.toLayer((handlers) => handlers.tool("search", () => Effect.void)).pipe(
 *   Layer.provide(McpRateLimit.layer(Limit, { limit: 100, window: "1 minute" }))
 * )
 * ```
 *
 * @category layers
 */
export const layer = <Self extends McpMiddleware.AnyId>(
  middleware: Context.Key<Self, McpMiddleware.McpMiddleware<never, never>>,
  options: Options
): Layer.Layer<Self> => {
  const { cost = ({ name }) => name === undefined ? 0 : 1, limit, maxCallers = 10_000 } = options
  const { onStoreFailure = "reject", storeTimeout = "1 second" } = options
  const windowMillis = Duration.toMillis(Duration.fromInputUnsafe(options.window))
  if (!(limit > 0 && windowMillis > 0 && Number.isFinite(limit / windowMillis))) {
    throw new RangeError(`McpRateLimit: expected a positive limit and window, got ${limit} in ${windowMillis} ms`)
  }
  const storeMillis = Duration.toMillis(Duration.fromInputUnsafe(storeTimeout))
  return Layer.effect(
    middleware,
    Effect.map(Effect.serviceOption(RateLimiter.RateLimiter), (limiter): McpMiddleware.McpMiddleware<never, never> => {
      const inStore = Option.map(limiter, (value) => shared(value, limit, windowMillis, middleware.key))
      // Only a store needs a deadline, which costs each request a fiber.
      const consume: Consume = Option.isSome(inStore)
        ? (caller, uses) => ForeignCall.within("RateLimiter.consume", storeMillis, () => inStore.value(caller, uses))
        : inMemory(limit, windowMillis, maxCallers)
      return (handler, target) => {
        const uses = cost(target)
        if (uses <= 0) return handler
        if (!(uses <= limit)) {
          return Effect.die(new RangeError(`McpRateLimit: a cost of ${uses} is above the limit of ${limit} uses`))
        }
        return Effect.flatMap(
          RequestContext.RequestContext,
          (request) =>
            consume(`${target.mount}${target.method} ${Caller.keyOf(request)}`, uses).pipe(
              Effect.catchCause((cause) =>
                Effect.andThen(
                  Effect.logError("the rate limit cannot be checked", cause),
                  onStoreFailure === "serve" ? Effect.succeed(0) : Effect.fail(unavailable)
                )
              ),
              Effect.flatMap((retryAfterMillis) =>
                retryAfterMillis === 0 ? handler : Effect.fail(exceeded(limit, windowMillis, retryAfterMillis))
              )
            )
        )
      }
    })
  )
}

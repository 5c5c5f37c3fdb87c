/**
 * Middleware that limits how many calls of a tool run at the same time.
 *
 * @stability unstable
 */
import type * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Layer from "effect/Layer"
import { ToolQueues } from "./internal/middleware/ToolQueues.ts"
import type * as McpMiddleware from "./McpMiddleware.ts"

/**
 * Options of {@link layer}.
 *
 * @category models
 */
export interface Options {
  /** The calls of one tool that run at the same time, at least 1. */
  readonly max: number
  /** The calls of one tool that wait for their turn. One more is rejected. Default 100. */
  readonly maxWaiting?: number
  /** The time that a call waits for its turn. After that it is rejected. Default 30 seconds. */
  readonly waitTimeout?: Duration.Input
}

/**
 * Implements a middleware that limits the concurrent calls of each tool of its groups. A tool under two prefixes
 * (`McpMount`) counts as two tools. Further calls wait for their turn, in the order of their arrival. A call that
 * cannot wait is rejected with −31010 and the reason. Lists, prompts, resources and completions are not limited.
 *
 * @example
 * ```ts
 * import { McpConcurrencyLimit, McpGroup, McpMiddleware } from "@effect-mcp/server"
 * import * as Tool from "effect/ai/Tool"
 * import * as Effect from "effect/Effect"
 * import * as Layer from "effect/Layer"
 *
 * class Turns extends McpMiddleware.Service<Turns>()("Turns") {}
 *
 * const Reports = McpGroup.make("reports", Tool.make("report")).middleware(Turns)
 *
 * export const ReportsLive = Reports.toLayer((handlers) => handlers.tool("report", () => Effect.void)).pipe(
 *   Layer.provide(McpConcurrencyLimit.layer(Turns, { max: 2 }))
 * )
 * ```
 *
 * @category layers
 */
export const layer = <Self extends McpMiddleware.AnyId>(
  middleware: Context.Key<Self, McpMiddleware.McpMiddleware<never, never>>,
  { max, maxWaiting = 100, waitTimeout = "30 seconds" }: Options
): Layer.Layer<Self> => {
  if (!(max >= 1)) throw new RangeError(`McpConcurrencyLimit: expected a max of at least 1, got ${max}`)
  return Layer.sync(middleware, () => {
    const waitMillis = Duration.toMillis(Duration.fromInputUnsafe(waitTimeout))
    const queues = new ToolQueues({ max, maxWaiting, waitMillis })
    return (handler, { group, method, mount, name }) =>
      method === "tools/call" && name !== undefined
        // Groups under two prefixes can have tools of the same name, and so has one group under two prefixes.
        ? queues.run(JSON.stringify([mount, group, name]), `${mount}${name}`, handler)
        : handler
  })
}

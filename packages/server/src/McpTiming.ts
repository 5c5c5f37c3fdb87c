/**
 * Middleware that measures how long the handlers of each member take.
 *
 * @stability unstable
 */
import * as Clock from "effect/Clock"
import type * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Metric from "effect/Metric"
import * as OutcomeOf from "./internal/middleware/Outcome.ts"
import type * as McpMiddleware from "./McpMiddleware.ts"

/**
 * The durations of handlers, in seconds. Their attributes are `mcp.group`, `mcp.mount` (the
 * beginning that `McpMount` gives names; absent without a mount), `mcp.method.name`, the name of the tool or
 * the prompt (`mcp.member.name`), and the outcome (`mcp.outcome`): `success`, `failure` (a result with `isError`),
 * `error`, `defect`, `interrupted` or `hidden`. URIs are no attributes, because clients choose them.
 *
 * @category metrics
 */
export const duration: Metric.Histogram<number> = Metric.histogram("mcp.server.handler.duration", {
  description: "The duration of a handler of a tool, a resource, a prompt or a completion",
  boundaries: [0.001, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 120, 300],
  attributes: { unit: "s" }
})

/**
 * Options of {@link layer}.
 *
 * @category models
 */
export interface Options {
  /** Handlers that take longer than this are logged as warnings. Default: none are. */
  readonly slowerThan?: Duration.Input
}

/** The most names of tools and prompts that are attributes. The members of a proxied server can change without end. */
const maxNames = 1_000

/** Bounds the names, because a registry of metrics keeps each attribute for the lifetime of the process. */
const boundedNames = (): (name: string) => string => {
  const names = new Set<string>()
  return (name) => {
    if (names.has(name)) return name
    if (names.size >= maxNames) return "other"
    names.add(name)
    return name
  }
}

/**
 * Implements a middleware that measures {@link duration}, the other middleware inside of it included. Lists are not
 * measured; the metrics of the session measure all requests.
 *
 * @example
 * ```ts
 * import { McpGroup, McpMiddleware, McpTiming } from "@effect-mcp/server"
 * import * as Tool from "effect/ai/Tool"
 * import * as Effect from "effect/Effect"
 * import * as Layer from "effect/Layer"
 *
 * class Timing extends McpMiddleware.Service<Timing>()("Timing") {}
 *
 * const Reports = McpGroup.make("reports", Tool.make("report")).middleware(Timing)
 *
 * export const ReportsLive = Reports.toLayer((handlers) => handlers.tool("report", () => Effect.void)).pipe(
 *   Layer.provide(McpTiming.layer(Timing, { slowerThan: "500 millis" }))
 * )
 * ```
 *
 * @category layers
 */
export const layer = <Self extends McpMiddleware.AnyId>(
  middleware: Context.Key<Self, McpMiddleware.McpMiddleware<never, never>>,
  { slowerThan }: Options = {}
): Layer.Layer<Self> =>
  Layer.sync(middleware, () => {
    const bounded = boundedNames()
    const slowMillis = slowerThan === undefined ? Infinity : Duration.toMillis(Duration.fromInputUnsafe(slowerThan))
    return (handler, { group, method, mount, name }) => {
      if (name === undefined) return handler
      const of = { "mcp.group": group, ...(mount === "" ? undefined : { "mcp.mount": mount }) }
      // The name of a resource is its URI.
      const member = method === "tools/call" || method === "prompts/get" ? { "mcp.member.name": bounded(name) } : {}
      return Effect.flatMap(Clock.currentTimeMillis, (began) =>
        Effect.onExit(handler, (exit) =>
          Effect.flatMap(Clock.currentTimeMillis, (ended) => {
            const millis = ended - began
            const outcome = OutcomeOf.of(exit)
            const attributes = { ...of, "mcp.method.name": method, ...member, "mcp.outcome": outcome }
            const measured = Metric.update(Metric.withAttributes(duration, attributes), millis / 1000)
            return millis <= slowMillis
              ? measured
              : Effect.andThen(measured, Effect.logWarning(`${method} took ${millis} ms`, attributes))
          })))
    }
  })

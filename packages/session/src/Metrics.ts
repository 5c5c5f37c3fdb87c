/**
 * How many requests a session serves and sends, how long they take and how they end, and how long sessions last: by the names of
 * OpenTelemetry's semantic conventions for MCP.
 */
import type { MethodDefinition } from "@effect-mcp/protocol"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Metric from "effect/Metric"
import { BoundedNames } from "./internal/telemetry/BoundedNames.ts"
import * as OtelAttributes from "./internal/telemetry/OtelAttributes.ts"
import type { Middleware } from "./Middleware.ts"

/** In seconds, as the conventions have them. */
const boundaries = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 120, 300]

const seconds = (name: string, description: string): Metric.Histogram<number> =>
  Metric.histogram(name, { description, boundaries, attributes: { unit: "s" } })

/**
 * How long requests took that this side sent, whichever side it is, in seconds.
 *
 * @category metrics
 */
export const clientOperationDuration: Metric.Histogram<number> = seconds(
  "mcp.client.operation.duration",
  "The duration of the MCP request or notification as observed on the sender"
)

/**
 * How long requests took that this side served, whichever side it is, in seconds.
 *
 * @category metrics
 */
export const serverOperationDuration: Metric.Histogram<number> = seconds(
  "mcp.server.operation.duration",
  "The duration of the MCP request or notification as observed on the receiver"
)

/**
 * How many requests of this side wait for their results. The conventions have no name for it.
 *
 * @category metrics
 */
export const clientActiveRequests: Metric.Gauge<number> = Metric.gauge("mcp.client.active_requests", {
  description: "The MCP requests that were sent and have not ended"
})

/**
 * How many requests of peers are being served. The conventions have no name for it.
 *
 * @category metrics
 */
export const serverActiveRequests: Metric.Gauge<number> = Metric.gauge("mcp.server.active_requests", {
  description: "The MCP requests that are being served"
})

/**
 * How long the sessions of each side lasted, in seconds. Every session is measured when it has ended; it needs no middleware.
 * The attributes are `mcp.protocol.version`, if the two sides came to terms, and `error.type`, the close reason, unless one of
 * the sides just ended it.
 *
 * @category metrics
 */
export const sessionDuration: { readonly [Role in MethodDefinition.Role]: Metric.Histogram<number> } = {
  client: seconds("mcp.client.session.duration", "The duration of the MCP session as observed on the MCP client"),
  server: seconds("mcp.server.session.duration", "The duration of the MCP session as observed on the MCP server")
}

/**
 * How many sessions a host has, by kind (`mcp.session.kind`), those that are ending included. The conventions have no name for it, nor
 * for what follows.
 *
 * @category metrics
 */
export const serverSessions: Metric.Gauge<number> = Metric.gauge("mcp.server.sessions", {
  description: "The MCP sessions that a host keeps"
})

/**
 * How many sessions a host has not let in; `error.type` is the scope of the `HostFull`.
 *
 * @category metrics
 */
export const serverSessionsRejected: Metric.Counter<number> = Metric.counter("mcp.server.sessions.rejected", {
  description: "The MCP sessions that a host has refused to open",
  incremental: true
})

/**
 * The number of sessions that a full host has evicted to make room for others: `mcp.session.eviction` is `idle`, `held`
 * or `handshake`.
 *
 * @category metrics
 */
export const serverSessionsEvicted: Metric.Counter<number> = Metric.counter("mcp.server.sessions.evicted", {
  description: "The MCP sessions that a full host has closed to make room for others",
  incremental: true
})

/**
 * How many sessions have come to their end by time: `mcp.session.expiry` is `idle`, `age`, `handshake` or `initialize`.
 *
 * @category metrics
 */
export const serverSessionsExpired: Metric.Counter<number> = Metric.counter("mcp.server.sessions.expired", {
  description: "The MCP sessions that a host has closed since their time was over",
  incremental: true
})

/** The names that are labels besides those of the method table: of extensions, tools and prompts that were served. */
interface Names {
  readonly methods: BoundedNames
  readonly targets: BoundedNames
}

const bounds = { size: 100, longest: 128 }

/**
 * A registry keeps its series as long as it lives, whichever session they are from; so its names are bounded together.
 */
const namesOf: WeakMap<object, Names> = new WeakMap()

const namesIn = (registry: object): Names => {
  const known = namesOf.get(registry)
  if (known !== undefined) return known
  const names: Names = { methods: new BoundedNames(bounds), targets: new BoundedNames(bounds) }
  namesOf.set(registry, names)
  return names
}

const measured = <A, E, R>(
  direction: OtelAttributes.Direction,
  request: { readonly method: string; readonly params: object },
  revision: string | undefined,
  effect: Effect.Effect<A, E, R>
): Effect.Effect<A, E, R> => {
  const { method, params } = request
  const [duration, active] = direction === "inbound"
    ? [serverOperationDuration, serverActiveRequests]
    : [clientOperationDuration, clientActiveRequests]
  return Effect.withFiber((fiber) => {
    const clock = fiber.getRef(Clock.Clock)
    const names = namesIn(fiber.getRef(Metric.MetricRegistry))
    const began = clock.monotonicTimeNanosUnsafe()
    const methodOf = (served: boolean): string =>
      OtelAttributes.isMethod(method) || (served ? names.methods.add(method) : names.methods.has(method))
        ? method
        : OtelAttributes.other
    const inFlight = Metric.withAttributes(active, { "mcp.method.name": methodOf(false) })
    const record = (exit: Exit.Exit<A, E>) => {
      const outcome = OtelAttributes.boundedOutcomeOf(direction, exit)
      // A name becomes a label when something was served under it; of names that are none a peer could invent any
      // number.
      const served = Exit.isSuccess(exit) && outcome["error.type"] === undefined
      const target = OtelAttributes.targetOf(method, params)
      const label = target === undefined || (served ? names.targets.add(target) : names.targets.has(target))
        ? target
        : OtelAttributes.other
      const attributes = { ...OtelAttributes.attributesOf(methodOf(served), label, revision), ...outcome }
      return Effect.andThen(
        Metric.modify(inFlight, -1),
        Metric.update(
          Metric.withAttributes(duration, attributes),
          Number(clock.monotonicTimeNanosUnsafe() - began) / 1e9
        )
      )
    }
    // A request that is interrupted between the two would count for ever.
    return Effect.uninterruptibleMask((restore) =>
      Effect.andThen(Metric.modify(inFlight, 1), Effect.onExit(restore(effect), record))
    )
  })
}

/**
 * The middleware that measures requests of both directions. What is refused before it reaches a handler, say of an unknown
 * method, is not measured; the event `Rejected` tells of it. A duration carries the method, the revision, the tool or prompt,
 * and what went wrong, if something did.
 *
 * Labels come from bounded sets, because a registry keeps each series for the life of the process and peers invent
 * names. Methods are those of the method table. The first 100 methods of extensions, and the first 100 names of tools
 * and prompts, become labels once a request for them has succeeded, if they have at most 128 characters. Every other
 * name, and every error code that `ErrorCode` does not have, is `_OTHER`. Spans carry the names themselves.
 *
 * @example
 * ```ts
 * import { ClientSession, Metrics, Middleware, Tracing } from "@effect-mcp/session"
 *
 * export const observed = ClientSession.layer({
 *   info: { name: "example", version: "1.0.0" },
 *   middleware: Middleware.all(Tracing.make(), Metrics.middleware)
 * })
 * ```
 *
 * @category middleware
 */
export const middleware: Middleware = {
  inbound: (request, next) => measured("inbound", request, request.profile.revision, next(request)),
  outbound: (request, next) => measured("outbound", request, request.profile?.revision, next(request))
}

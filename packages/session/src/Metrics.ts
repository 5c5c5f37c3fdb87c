/**
 * Metrics of requests, sessions and hosts, with the names of OpenTelemetry's semantic conventions for MCP. Durations
 * are in seconds.
 */
import type { MethodDefinition } from "@effect-mcp/protocol"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Metric from "effect/Metric"
import { BoundedNames } from "./internal/telemetry/BoundedNames.ts"
import * as OtelAttributes from "./internal/telemetry/OtelAttributes.ts"
import type { Middleware } from "./Middleware.ts"

/** The boundaries of the histograms, in seconds, as the conventions recommend them. */
const boundaries = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 120, 300]

const seconds = (name: string, description: string): Metric.Histogram<number> =>
  Metric.histogram(name, { description, boundaries, attributes: { unit: "s" } })

/**
 * The durations of the requests that this side sent, in seconds. This side is a client or a server.
 *
 * @category metrics
 */
export const clientOperationDuration: Metric.Histogram<number> = seconds(
  "mcp.client.operation.duration",
  "The duration of the MCP request or notification as observed on the sender"
)

/**
 * The durations of the requests that this side served, in seconds. This side is a client or a server.
 *
 * @category metrics
 */
export const serverOperationDuration: Metric.Histogram<number> = seconds(
  "mcp.server.operation.duration",
  "The duration of the MCP request or notification as observed on the receiver"
)

/**
 * The number of requests of this side that wait for their responses. The conventions have no name for it.
 *
 * @category metrics
 */
export const clientActiveRequests: Metric.Gauge<number> = Metric.gauge("mcp.client.active_requests", {
  description: "The MCP requests that were sent and have not ended"
})

/**
 * The number of requests of peers that handlers serve. The conventions have no name for it.
 *
 * @category metrics
 */
export const serverActiveRequests: Metric.Gauge<number> = Metric.gauge("mcp.server.active_requests", {
  description: "The MCP requests that are being served"
})

/**
 * The durations of the sessions of each side, in seconds. Every session is measured when it has ended, without
 * middleware. Its attributes are `mcp.protocol.version`, if a revision was negotiated, and `error.type`, the close
 * reason, unless that is `Requested` or `PeerEnded`.
 *
 * @category metrics
 */
export const sessionDuration: { readonly [Role in MethodDefinition.Role]: Metric.Histogram<number> } = {
  client: seconds("mcp.client.session.duration", "The duration of the MCP session as observed on the MCP client"),
  server: seconds("mcp.server.session.duration", "The duration of the MCP session as observed on the MCP server")
}

/**
 * The number of sessions of a host by kind (`mcp.session.kind`), including those that are closing. The conventions have
 * no name for it and for the following metrics.
 *
 * @category metrics
 */
export const serverSessions: Metric.Gauge<number> = Metric.gauge("mcp.server.sessions", {
  description: "The MCP sessions that a host keeps"
})

/**
 * The number of sessions that a host rejected. `error.type` is the scope of the `HostFull`.
 *
 * @category metrics
 */
export const serverSessionsRejected: Metric.Counter<number> = Metric.counter("mcp.server.sessions.rejected", {
  description: "The MCP sessions that a host has rejected",
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
 * The number of sessions that expired: `mcp.session.expiry` is `idle`, `age`, `handshake` or `initialize`.
 *
 * @category metrics
 */
export const serverSessionsExpired: Metric.Counter<number> = Metric.counter("mcp.server.sessions.expired", {
  description: "The MCP sessions that a host has closed because they expired",
  incremental: true
})

/** The labels that are not in the method table: names of extensions, and of tools and prompts, that were served. */
interface Names {
  readonly methods: BoundedNames
  readonly targets: BoundedNames
}

const bounds = { size: 100, longest: 128 }

/**
 * The labels of each registry. A registry keeps the series of all sessions for its lifetime, so its labels have one
 * bound for all of them.
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
    const startedAt = clock.monotonicTimeNanosUnsafe()
    const methodOf = (served: boolean): string =>
      OtelAttributes.isMethod(method) || (served ? names.methods.add(method) : names.methods.has(method))
        ? method
        : OtelAttributes.other
    const inFlight = Metric.withAttributes(active, { "mcp.method.name": methodOf(false) })
    const record = (exit: Exit.Exit<A, E>) => {
      const outcome = OtelAttributes.boundedOutcomeOf(direction, exit)
      // Only a name for which a request succeeded becomes a label: a peer can invent any number of names.
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
          Number(clock.monotonicTimeNanosUnsafe() - startedAt) / 1e9
        )
      )
    }
    // Without the mask, a request that is interrupted between the two steps would stay counted as active.
    return Effect.uninterruptibleMask((restore) =>
      Effect.andThen(Metric.modify(inFlight, 1), Effect.onExit(restore(effect), record))
    )
  })
}

/**
 * Measures the requests of both directions. A request that is rejected before it reaches a handler, for example because
 * its method is unknown, is not measured; the event `Rejected` reports it. The attributes of a duration are the method,
 * the revision, the tool or prompt, and the error.
 *
 * Labels come from bounded sets, because a registry keeps each series for the life of the process and peers invent
 * names. Methods are those of the method table. The first 100 methods of extensions, and the first 100 names of tools
 * and prompts, become labels once a request for them has succeeded, if they have at most 128 characters. Every other
 * name, and every error code that is not in `ErrorCode`, is `_OTHER`. Spans have the names themselves.
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

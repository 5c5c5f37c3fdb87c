/**
 * Metrics of requests, sessions and hosts, with the names of OpenTelemetry's semantic conventions for MCP. Durations
 * are in seconds.
 *
 * @stability unstable
 */
import type { MethodDefinition } from "@effect-mcp/protocol"
import * as Clock from "effect/Clock"
import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Metric from "effect/Metric"
import { BoundedNames } from "./internal/telemetry/BoundedNames.ts"
import { LabelledMetrics } from "./internal/telemetry/LabelledMetrics.ts"
import * as OtelAttributes from "./internal/telemetry/OtelAttributes.ts"
import * as ServerMetrics from "./internal/telemetry/ServerMetrics.ts"
import * as StoreMetrics from "./internal/telemetry/StoreMetrics.ts"
import type { Middleware } from "./Middleware.ts"

/** The boundaries of the histograms, in seconds, as the conventions recommend them. */
const boundaries = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 120, 300]

const seconds = (name: string, description: string, labels: OtelAttributes.Attributes = {}): Metric.Histogram<number> =>
  Metric.histogram(name, { description, boundaries, attributes: { unit: "s", ...labels } })

const clientDuration = (labels?: OtelAttributes.Attributes) =>
  seconds(
    "mcp.client.operation.duration",
    "The duration of the MCP request or notification as observed on the sender",
    labels
  )

const serverDuration = (labels?: OtelAttributes.Attributes) =>
  seconds(
    "mcp.server.operation.duration",
    "The duration of the MCP request or notification as observed on the receiver",
    labels
  )

const clientActive = (labels: OtelAttributes.Attributes = {}) =>
  Metric.gauge("mcp.client.active_requests", {
    description: "The MCP requests that were sent and have not ended",
    attributes: labels
  })

const serverActive = (labels: OtelAttributes.Attributes = {}) =>
  Metric.gauge("mcp.server.active_requests", {
    description: "The MCP requests that are being served",
    attributes: labels
  })

/**
 * The durations of the requests that this side sent, in seconds. This side is a client or a server.
 *
 * @category metrics
 */
export const clientOperationDuration: Metric.Histogram<number> = clientDuration()

/**
 * The durations of the requests that this side served, in seconds. This side is a client or a server.
 *
 * @category metrics
 */
export const serverOperationDuration: Metric.Histogram<number> = serverDuration()

/**
 * The number of requests of this side that wait for their responses. The conventions have no name for it.
 *
 * @category metrics
 */
export const clientActiveRequests: Metric.Gauge<number> = clientActive()

/**
 * The number of requests of peers that handlers serve. The conventions have no name for it.
 *
 * @category metrics
 */
export const serverActiveRequests: Metric.Gauge<number> = serverActive()

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
export const serverSessions: Metric.Gauge<number> = ServerMetrics.sessions

/**
 * The number of sessions that a host rejected. `error.type` is the scope of the `HostFullError`.
 *
 * @category metrics
 */
export const serverSessionsRejected: Metric.Counter<number> = ServerMetrics.sessionsRejected

/**
 * The number of sessions that a full host has evicted to make room for others: `mcp.session.eviction` is `idle`, `held`
 * or `handshake`.
 *
 * @category metrics
 */
export const serverSessionsEvicted: Metric.Counter<number> = ServerMetrics.sessionsEvicted

/**
 * The number of sessions that expired: `mcp.session.expiry` is `idle`, `age`, `handshake` or `initialize`.
 *
 * @category metrics
 */
export const serverSessionsExpired: Metric.Counter<number> = ServerMetrics.sessionsExpired

/**
 * The number of HTTP requests that were forwarded to the process that owns their session. `mcp.forward.outcome` is
 * `answered`, `unknown` (the process may have processed the request), `unavailable` (no process did), or `rejected`
 * (too many were being forwarded).
 *
 * @category metrics
 */
export const serverRequestsForwarded: Metric.Counter<number> = ServerMetrics.requestsForwarded

/**
 * The number of sessions that this process owns, with `SessionOwners`.
 *
 * @category metrics
 */
export const serverSessionsOwned: Metric.Gauge<number> = ServerMetrics.sessionsOwned

/**
 * The number of sessions that this process claimed after an earlier owner: one that has ended, has no lease any more,
 * or has released the session.
 *
 * @category metrics
 */
export const serverSessionsTakenOver: Metric.Counter<number> = ServerMetrics.sessionsTakenOver

/**
 * The number of times that the lease of this process was over before it was renewed.
 *
 * @category metrics
 */
export const serverLeasesLost: Metric.Counter<number> = ServerMetrics.leasesLost

/**
 * The number of gaps that a `ChangeBus` reported: changes of other processes may be lost, so everything counts as
 * changed. Gaps within a second are one.
 *
 * @category metrics
 */
export const changeBusGaps: Metric.Counter<number> = ServerMetrics.changeBusGaps

/**
 * The number of writes that a store rejected because a later owner has the session. `mcp.store.name` is `SessionStore`
 * or `EventStore`.
 *
 * @category metrics
 */
export const serverWritesSuperseded: Metric.Counter<number> = StoreMetrics.writesSuperseded

/**
 * The durations of the operations of stores, in seconds. `mcp.store.name` is `SessionStore`, `EventStore` or
 * `OwnerStore`, `mcp.store.operation` is the operation, and `error.type` is `SupersededError`, `TimedOut` or `_OTHER`.
 * An operation that has its result at once, as one of a store in memory, is not measured.
 *
 * @category metrics
 */
export const serverStoreDuration: Metric.Histogram<number> = StoreMetrics.operationDuration

/** The values of the labels of a duration. */
type DurationLabels = readonly [
  method: string,
  target: string | undefined,
  revision: string | undefined,
  code: string | undefined,
  error: string | undefined
]

/** The series of the requests of one direction. */
interface Series {
  readonly duration: LabelledMetrics<DurationLabels, number, Metric.HistogramState>
  readonly active: LabelledMetrics<readonly [method: string], number, Metric.GaugeState<number>>
}

const makeSeries = (duration: typeof serverDuration, active: typeof serverActive): Series => ({
  duration: new LabelledMetrics(([method, target, revision, code, error]) =>
    duration({
      ...OtelAttributes.attributesOf(method, target, revision),
      ...(code === undefined ? {} : { "rpc.response.status_code": code }),
      ...(error === undefined ? {} : { "error.type": error })
    })
  ),
  active: new LabelledMetrics(([method]) => active({ "mcp.method.name": method }))
})

const bounds = { size: 100, longest: 128 }

/**
 * The measurements of all sessions with one registry. Labels that are not in the method table are names of extensions,
 * and of tools and prompts, for which a request succeeded.
 */
class Measurements {
  readonly #methods = new BoundedNames(bounds)
  readonly #targets = new BoundedNames(bounds)
  readonly #series: { readonly [D in OtelAttributes.Direction]: Series } = {
    inbound: makeSeries(serverDuration, serverActive),
    outbound: makeSeries(clientDuration, clientActive)
  }

  /** Measures the start of a request. Returns the function that measures its end. */
  begin(
    direction: OtelAttributes.Direction,
    { method, params }: Measured,
    revision: string | undefined,
    { context, clock }: { readonly context: Context.Context<never>; readonly clock: Clock.Clock }
  ): (exit: Exit.Exit<unknown, unknown>) => void {
    const { active, duration } = this.#series[direction]
    const running = active.of([this.#methodOf(method, false)])
    const startedAt = clock.monotonicTimeNanosUnsafe()
    running.modifyUnsafe(1, context)
    return (exit) => {
      running.modifyUnsafe(-1, context)
      const outcome = OtelAttributes.boundedOutcomeOf(direction, exit)
      const error = outcome["error.type"]
      // Only a name for which a request succeeded becomes a label: a peer can invent any number of names.
      const served = Exit.isSuccess(exit) && error === undefined
      const series = duration.of([
        this.#methodOf(method, served),
        this.#targetOf(method, params, served),
        revision,
        outcome["rpc.response.status_code"],
        error
      ])
      series.updateUnsafe(Number(clock.monotonicTimeNanosUnsafe() - startedAt) / 1e9, context)
    }
  }

  #methodOf(method: string, served: boolean): string {
    return OtelAttributes.isMethod(method) || isLabel(this.#methods, method, served) ? method : OtelAttributes.other
  }

  #targetOf(method: string, params: object, served: boolean): string | undefined {
    const target = OtelAttributes.targetOf(method, params)
    return target === undefined || isLabel(this.#targets, target, served) ? target : OtelAttributes.other
  }
}

/** Returns whether a name is a label. Adds it if it was served. */
const isLabel = (labels: BoundedNames, name: string, served: boolean): boolean =>
  served ? labels.add(name) : labels.has(name)

/**
 * The measurements of each registry. A registry keeps the series of all sessions for its lifetime, so its labels have
 * one bound for all of them.
 */
const measurementsOf: WeakMap<object, Measurements> = new WeakMap()

const measurementsIn = (registry: object): Measurements => {
  const known = measurementsOf.get(registry)
  if (known !== undefined) return known
  const made = new Measurements()
  measurementsOf.set(registry, made)
  return made
}

/** A request that is measured. */
interface Measured {
  readonly method: string
  readonly params: object
}

const measured = <A, E, R>(
  direction: OtelAttributes.Direction,
  request: Measured,
  revision: string | undefined,
  effect: Effect.Effect<A, E, R>
): Effect.Effect<A, E, R> =>
  Effect.suspend(() => {
    let end: ((exit: Exit.Exit<A, E>) => void) | undefined
    const begun = Effect.withFiber<A, E, R>((fiber) => {
      const clock = fiber.getRef(Clock.Clock)
      const measurements = measurementsIn(fiber.getRef(Metric.MetricRegistry))
      end = measurements.begin(direction, request, revision, { context: fiber.context, clock })
      return effect
    })
    // The finalizer is there before the request begins. Otherwise, one that is interrupted between the two steps would
    // stay counted as active.
    return Effect.onExitPrimitive(begun, (exit) => {
      end?.(exit)
      return undefined
    })
  })

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

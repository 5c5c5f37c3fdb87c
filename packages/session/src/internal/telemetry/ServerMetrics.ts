/** The metrics of hosts and fleets. They are apart, so that the bundle of a server over stdio has none of them. */

import * as Metric from "effect/Metric"

/** The number of sessions of a host by kind. */
export const sessions: Metric.Gauge<number> = Metric.gauge("mcp.server.sessions", {
  description: "The MCP sessions that a host keeps"
})

/** The number of sessions that a host rejected. */
export const sessionsRejected: Metric.Counter<number> = Metric.counter("mcp.server.sessions.rejected", {
  description: "The MCP sessions that a host has rejected",
  incremental: true
})

/** The number of sessions that a full host has evicted. */
export const sessionsEvicted: Metric.Counter<number> = Metric.counter("mcp.server.sessions.evicted", {
  description: "The MCP sessions that a full host has closed to make room for others",
  incremental: true
})

/** The number of sessions that expired. */
export const sessionsExpired: Metric.Counter<number> = Metric.counter("mcp.server.sessions.expired", {
  description: "The MCP sessions that a host has closed because they expired",
  incremental: true
})

/** The number of HTTP requests that were forwarded to the process that owns their session. */
export const requestsForwarded: Metric.Counter<number> = Metric.counter("mcp.server.requests.forwarded", {
  description: "The HTTP requests that were forwarded to the process that owns their session",
  incremental: true
})

/** The number of sessions that this process owns. */
export const sessionsOwned: Metric.Gauge<number> = Metric.gauge("mcp.server.sessions.owned", {
  description: "The MCP sessions that this process owns"
})

/** The number of sessions that this process claimed after an earlier owner. */
export const sessionsTakenOver: Metric.Counter<number> = Metric.counter("mcp.server.sessions.taken_over", {
  description: "The MCP sessions that this process has claimed after an earlier owner",
  incremental: true
})

/** The number of times that the lease of this process was over before it was renewed. */
export const leasesLost: Metric.Counter<number> = Metric.counter("mcp.server.leases.lost", {
  description: "The leases of this process that were over before they were renewed",
  incremental: true
})

/** The number of gaps that a `ChangeBus` reported. */
export const changeBusGaps: Metric.Counter<number> = Metric.counter("mcp.server.changes.gaps", {
  description: "The gaps in the changes of other processes",
  incremental: true
})

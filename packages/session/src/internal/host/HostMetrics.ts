/** The updates of a host's metrics, each with its attributes. */

import type * as Effect from "effect/Effect"
import * as Metric from "effect/Metric"
import * as Metrics from "../../Metrics.ts"
import type { HostFullScope } from "./SessionHostShape.ts"

/** Counts a session of this kind that was opened, or one that has closed. */
export const sessions = (kind: string, change: 1 | -1): Effect.Effect<void> =>
  Metric.modify(Metric.withAttributes(Metrics.serverSessions, { "mcp.session.kind": kind }), change)

/** Counts a session that was not opened. */
export const rejected = (kind: string, scope: HostFullScope): Effect.Effect<void> =>
  Metric.update(
    Metric.withAttributes(Metrics.serverSessionsRejected, { "mcp.session.kind": kind, "error.type": scope }),
    1
  )

/** Counts a session that a full host closed for a newcomer. */
export const evicted = (kind: string, eviction: "idle" | "held" | "handshake"): Effect.Effect<void> =>
  Metric.update(
    Metric.withAttributes(Metrics.serverSessionsEvicted, {
      "mcp.session.kind": kind,
      "mcp.session.eviction": eviction
    }),
    1
  )

/** Counts a session whose lifetime is over. */
export const expired = (
  kind: string,
  expiry: "initialize" | "handshake" | "idle" | "age" | "identity"
): Effect.Effect<void> =>
  Metric.update(
    Metric.withAttributes(Metrics.serverSessionsExpired, { "mcp.session.kind": kind, "mcp.session.expiry": expiry }),
    1
  )

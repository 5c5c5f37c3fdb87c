/** The metric of the durations of sessions. */

import type { CloseReason, MethodDefinition, Revision } from "@effect-mcp/protocol"
import type * as Effect from "effect/Effect"
import * as Metric from "effect/Metric"
import * as Metrics from "../../Metrics.ts"

/** A session that has ended. */
export interface Ended {
  readonly role: MethodDefinition.Role
  readonly reason: CloseReason.CloseReason
  /** The negotiated revision, if there was one. */
  readonly revision: Revision.Revision | undefined
  /** The duration of the session. */
  readonly millis: number
}

/** Records the duration of a session that has ended. */
export const record = ({ millis, reason, revision, role }: Ended): Effect.Effect<void> =>
  Metric.update(
    Metric.withAttributes(Metrics.sessionDuration[role], {
      ...(revision === undefined ? {} : { "mcp.protocol.version": revision }),
      ...(reason._tag === "Requested" || reason._tag === "PeerEnded" ? {} : { "error.type": reason._tag })
    }),
    millis / 1000
  )

/** The metrics of stores. They load no schemas, so that a transport costs little to import. */

import * as Metric from "effect/Metric"

/** The number of writes that a store rejected because a later owner has the session. */
export const writesSuperseded: Metric.Counter<number> = Metric.counter("mcp.server.writes.superseded", {
  description: "The writes that a store rejected because a later owner has the session",
  incremental: true
})

/** The durations of the operations of stores, in seconds. */
export const operationDuration: Metric.Histogram<number> = Metric.histogram("mcp.server.store.operation.duration", {
  description: "The duration of an operation of a store",
  // A store beside the process answers in less than a millisecond.
  boundaries: [0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10],
  attributes: { unit: "s" }
})

/** Measurements of this process while it is idle. */
import type { Counts } from "./Subject.ts"

export interface Sample {
  /** The number of sessions so far. */
  readonly sessions: number
  /** Seconds since the first sample. */
  readonly seconds: number
  /** Counts that must equal those before the first session: fibers, handles by kind, tables. */
  readonly counts: Counts
  /** Levels that must not grow: bytes, and objects that should have been collected. */
  readonly levels: Counts
  /** Values that are only shown, such as the resident set, which depends on the allocator. */
  readonly shown: Counts
}

/** Describes the differences between two records of counts. */
export const differences = (before: Counts, after: Counts): ReadonlyArray<string> =>
  Array.from(new Set([...Object.keys(before), ...Object.keys(after)]))
    .filter((name) => (before[name] ?? 0) !== (after[name] ?? 0))
    .map((name) => `${name}: ${before[name] ?? 0} before, ${after[name] ?? 0} now`)

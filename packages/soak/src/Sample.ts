/** What there is in this process while nothing happens in it. */
import type { Counts } from "./Subject.ts"

export interface Sample {
  /** How many sessions there have been. */
  readonly sessions: number
  /** Seconds since the first sample. */
  readonly seconds: number
  /** What has to be as it was before the first session: fibers, handles by kind, tables. */
  readonly counts: Counts
  /** What must not grow: bytes, and objects that should have been collected. */
  readonly levels: Counts
  /** What is only shown: what the process has of the machine's memory, which comes and goes as the allocator likes. */
  readonly shown: Counts
}

/** What is different between two counts, in words. */
export const differences = (before: Counts, after: Counts): ReadonlyArray<string> =>
  Array.from(new Set([...Object.keys(before), ...Object.keys(after)]))
    .filter((name) => (before[name] ?? 0) !== (after[name] ?? 0))
    .map((name) => `${name}: ${before[name] ?? 0} before, ${after[name] ?? 0} now`)

/** A count of sessions, and of those that are still in memory. */
export interface Tally {
  /** Counts a session. */
  readonly add: (session: object) => void
  readonly sessions: () => number
  /** Returns the number of sessions that the garbage collector has not reported as collected. */
  readonly uncollected: () => number
}

/**
 * Creates a tally. It can leak a number of bytes for each session, which shows that the soak finds leaks.
 */
export const make = (leakBytes: number): Tally => {
  let sessions = 0
  let uncollected = 0
  const leaked: Array<Array<number>> = []
  const registry = new FinalizationRegistry<void>(() => {
    uncollected--
  })
  return {
    add: (session) => {
      sessions++
      uncollected++
      registry.register(session)
      // A small integer in an array takes eight bytes, because Node does not compress pointers.
      if (leakBytes > 0) leaked.push(Array.from({ length: Math.ceil(leakBytes / 8) }, () => 0))
    },
    sessions: () => sessions,
    uncollected: () => uncollected
  }
}

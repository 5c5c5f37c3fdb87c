/** How many sessions there were, and how many of them are still in memory. */
export interface Tally {
  /** One more session. */
  readonly add: (session: object) => void
  readonly sessions: () => number
  /** How many have not been collected, as far as the collector has told. */
  readonly uncollected: () => number
}

/**
 * Opens a tally. So that it can be seen that a leak is found, it leaks if it is told to: that many bytes for each session.
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
      // A small number in an array takes eight bytes, or four where pointers are compressed, which they are not in Node.
      if (leakBytes > 0) leaked.push(Array.from({ length: Math.ceil(leakBytes / 8) }, () => 0))
    },
    sessions: () => sessions,
    uncollected: () => uncollected
  }
}

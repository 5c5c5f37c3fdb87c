/** The requests that processes have served, and the rules that these must keep. */

/** One request that a process has served. Times are microseconds of one clock. */
export interface Served {
  readonly process: number
  readonly session: string
  readonly epoch: number
  /** A time at which the process owned the session by its own judgement. */
  readonly at: number
  /** Whether the store has acknowledged its write. */
  readonly isStored: boolean
}

/** Returns what breaks the rule that a session has one owner at a time, and that no epoch has two. */
export const violations = (history: ReadonlyArray<Served>): ReadonlyArray<string> => {
  const problems: Array<string> = []
  for (const earlier of history) {
    for (const later of history) {
      if (earlier.session !== later.session || earlier.epoch > later.epoch) continue
      const names = `${earlier.process} in epoch ${earlier.epoch} and ${later.process} in epoch ${later.epoch}`
      if (earlier.epoch === later.epoch) {
        if (earlier.process !== later.process) problems.push(`${names}: one epoch has two owners`)
      } else if (earlier.at >= later.at) {
        problems.push(`${names}: the earlier owner served ${earlier.at - later.at} µs after the later one`)
      }
    }
  }
  return problems
}

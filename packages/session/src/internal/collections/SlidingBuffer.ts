/** A bounded buffer that drops its oldest entries. */

import type { MemoryBudget } from "../../MemoryBudget.ts"

/**
 * A buffer for a slow consumer, bounded by number and by bytes. The oldest entry makes room, because the reader that
 * fills the buffer cannot wait. An entry that is too large for the whole buffer is kept alone, unless the process has
 * no memory for it. The whole buffer makes room for smaller holders of the memory of the process; the next `offer`
 * reports that entries were lost.
 */
export interface SlidingBuffer<A> {
  /** Adds an entry. Returns `false` if entries were lost: older ones, or this one. */
  readonly offer: (item: A, bytes: number) => boolean
  /** Takes the oldest entry. It stays charged to the budget until it is released. */
  readonly shift: () => Waiting<A> | undefined
  /** Releases an entry that the consumer has handled. */
  readonly release: (taken: Waiting<A>) => void
  readonly size: () => number
  readonly clear: () => void
}

/** The bounds of a buffer. */
export interface Bounds {
  readonly capacity: number
  readonly bytes: number
  /** The memory budget of the process. */
  readonly budget: MemoryBudget
}

/** An entry that waits, or that was taken and not released. */
export interface Waiting<A> {
  readonly item: A
  readonly bytes: number
}

export const make = <A>({ budget, bytes: limitBytes, capacity }: Bounds): SlidingBuffer<A> => {
  const waiting: Array<Waiting<A>> = []
  /** Entries were dropped to make room for other holders. */
  let hasYielded = false
  let held = 0
  const shift = () => {
    const oldest = waiting.shift()
    held -= oldest?.bytes ?? 0
    return oldest
  }
  const clear = () => {
    while (drop());
  }
  const account = budget.open({
    yields: () => {
      hasYielded ||= waiting.length > 0
      clear()
    }
  })
  const release = (taken: Waiting<A>) => account.release(taken.bytes)
  /** Drops the oldest entry. Returns `false` if there is none. */
  const drop = () => {
    const oldest = shift()
    if (oldest === undefined) return false
    release(oldest)
    return true
  }
  return {
    offer: (item, bytes) => {
      const before = waiting.length
      while (waiting.length > 0 && (waiting.length >= capacity || held + bytes > limitBytes)) drop()
      while (!account.take(bytes)) if (!drop()) return false
      const complete = waiting.length === before && !hasYielded
      hasYielded = false
      waiting.push({ item, bytes })
      held += bytes
      return complete
    },
    shift,
    release,
    size: () => waiting.length,
    clear
  }
}

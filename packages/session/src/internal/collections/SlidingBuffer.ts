/** A bounded buffer that drops its oldest entries. */

import type { MemoryBudget } from "../../MemoryBudget.ts"

/**
 * A buffer for a slow consumer, bounded by number and by bytes. It drops its oldest entries, because the read loop that
 * fills it cannot wait. An entry that is larger than the bound is kept alone, unless the memory budget is exhausted. To
 * make room for smaller holders of the budget, the buffer drops all entries. The next `offer` reports the loss.
 */
export interface SlidingBuffer<A> {
  /** Adds an entry. Returns `false` if entries were dropped: older ones, or this one. */
  readonly offer: (item: A, bytes: number) => boolean
  /** Takes the oldest entry. It is charged to the budget until it is released. */
  readonly shift: () => Waiting<A> | undefined
  /** Releases an entry that the consumer has handled. */
  readonly release: (taken: Waiting<A>) => void
  /** Returns the number of waiting entries. */
  readonly size: () => number
  /** Drops all waiting entries. */
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
  /** Whether entries were dropped to make room for other holders of the budget. */
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

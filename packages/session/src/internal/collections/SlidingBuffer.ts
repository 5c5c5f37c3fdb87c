import type { MemoryBudget } from "../../MemoryBudget.ts"

/**
 * What waits for a consumer that takes its time. It is bounded by number and by bytes, and the oldest makes room: the
 * reader, which fills it, cannot wait. One that is too large for it all alone is kept all the same, unless the process
 * has no memory for it. All of it makes room for smaller holders of the process's memory; the next that is offered says
 * that something was lost.
 */
export interface SlidingBuffer<A> {
  /** `false` when something was lost: older ones, or this one. */
  readonly offer: (item: A, bytes: number) => boolean
  /** Takes the oldest. It stays charged to the budget until it is released. */
  readonly shift: () => Waiting<A> | undefined
  /** The consumer has done with one that it took. */
  readonly release: (taken: Waiting<A>) => void
  readonly size: () => number
  readonly clear: () => void
}

/** How much a backlog may hold. */
export interface Bounds {
  readonly capacity: number
  readonly bytes: number
  /** What the whole process may hold. */
  readonly budget: MemoryBudget
}

/** Something that waits, or was taken and not released. */
export interface Waiting<A> {
  readonly item: A
  readonly bytes: number
}

export const make = <A>({ budget, bytes: limitBytes, capacity }: Bounds): SlidingBuffer<A> => {
  const waiting: Array<Waiting<A>> = []
  /** Something has made room for others of the process. */
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
  /** Drops the oldest; `false` when there is none. */
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

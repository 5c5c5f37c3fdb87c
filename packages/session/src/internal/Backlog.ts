/**
 * What waits for a consumer that takes its time. It is bounded by number and by bytes, and the oldest makes room: the reader,
 * which fills it, cannot wait. One that is too large for it all alone is kept all the same.
 */
export interface Backlog<A> {
  /** `false` when older ones had to go. */
  readonly offer: (item: A, bytes: number) => boolean
  /** The oldest. */
  readonly shift: () => A | undefined
  readonly size: () => number
  readonly clear: () => void
}

/** How much a backlog may hold. */
export interface Bounds {
  readonly capacity: number
  readonly bytes: number
}

interface Waiting<A> {
  readonly item: A
  readonly bytes: number
}

export const make = <A>(bounds: Bounds): Backlog<A> => {
  const waiting: Array<Waiting<A>> = []
  let held = 0
  const shift = () => {
    const oldest = waiting.shift()
    held -= oldest?.bytes ?? 0
    return oldest?.item
  }
  return {
    offer: (item, bytes) => {
      const before = waiting.length
      while (waiting.length > 0 && (waiting.length >= bounds.capacity || held + bytes > bounds.bytes)) shift()
      const complete = waiting.length === before
      waiting.push({ item, bytes })
      held += bytes
      return complete
    },
    shift,
    size: () => waiting.length,
    clear: () => {
      waiting.length = 0
      held = 0
    }
  }
}

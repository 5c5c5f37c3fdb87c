/**
 * A table that holds no more than so many entries, and no more than so much weight, whatever is put into it. What has not been
 * used for longest makes room.
 */
export interface LeastRecentlyUsed<A> {
  /** What stands under this name; looking it up is using it. */
  readonly get: (name: string) => A | undefined
  /** Puts something in, and returns the names that are not in any more. What is heavier than all may be is not kept itself. */
  readonly set: (name: string, value: A, weight: number) => ReadonlyArray<string>
  readonly delete: (name: string) => void
  readonly clear: () => void
  /** The names of all, the one that has not been used for longest first. */
  readonly names: () => ReadonlyArray<string>
  readonly size: () => number
  readonly weight: () => number
}

interface Entry<A> {
  readonly value: A
  readonly weight: number
}

export const make = <A>(bounds: { readonly size: number; readonly weight: number }): LeastRecentlyUsed<A> => {
  // A map keeps the order in which its entries were put in: the first is the one that was not used for longest.
  const entries = new Map<string, Entry<A>>()
  let total = 0

  const remove = (name: string): void => {
    total -= entries.get(name)?.weight ?? 0
    entries.delete(name)
  }

  return {
    get: (name) => {
      const entry = entries.get(name)
      if (entry === undefined) return undefined
      entries.delete(name)
      entries.set(name, entry)
      return entry.value
    },
    set: (name, value, weight) => {
      remove(name)
      if (bounds.size < 1 || weight > bounds.weight) return [name]
      entries.set(name, { value, weight })
      total += weight
      const dropped: Array<string> = []
      for (const oldest of entries.keys()) {
        if (entries.size <= bounds.size && total <= bounds.weight) break
        remove(oldest)
        dropped.push(oldest)
      }
      return dropped
    },
    delete: remove,
    clear: () => {
      entries.clear()
      total = 0
    },
    names: () => Array.from(entries.keys()),
    size: () => entries.size,
    weight: () => total
  }
}

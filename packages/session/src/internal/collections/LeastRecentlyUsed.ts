/** A table that evicts its least recently used entries. */

/** A table with a bounded number of entries and a bounded total weight. */
export interface LeastRecentlyUsed<A> {
  /** Returns the value of this name, and marks it as used. */
  readonly get: (name: string) => A | undefined
  /** Returns the value of this name. Its place in the order stays. */
  readonly peek: (name: string) => A | undefined
  /** Adds a value, and returns the names that it evicted. A value that is heavier than the bound is not kept itself. */
  readonly set: (name: string, value: A, weight: number) => ReadonlyArray<string>
  readonly delete: (name: string) => void
  readonly clear: () => void
  /** Returns all names, the least recently used one first. */
  readonly names: () => ReadonlyArray<string>
  readonly size: () => number
  readonly weight: () => number
}

interface Entry<A> {
  readonly value: A
  readonly weight: number
}

export const make = <A>(bounds: { readonly size: number; readonly weight: number }): LeastRecentlyUsed<A> => {
  // A map keeps the order of insertion: its first entry is the least recently used one.
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
    peek: (name) => entries.get(name)?.value,
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

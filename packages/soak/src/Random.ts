/** Pseudo-random numbers that are the same for the same seed. */
export interface Random {
  /** Returns a number of at least 0 and less than 1. */
  readonly next: () => number
  /** Returns the items in random order. */
  readonly shuffled: <A>(items: ReadonlyArray<A>) => ReadonlyArray<A>
}

/** Creates a mixed Weyl sequence: every seed has a period of 2³². */
export const make = (seed: number): Random => {
  let state = Math.imul(seed, 0x9e3779b1) | 0
  const next = (): number => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 0x1_0000_0000
  }
  return {
    next,
    shuffled: (items) =>
      items.map((item) => ({ item, key: next() })).toSorted((one, other) => one.key - other.key)
        .map(({ item }) => item)
  }
}

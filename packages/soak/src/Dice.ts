/** Numbers that look random and are the same for the same seed. */
export interface Dice {
  /** From 0, and less than 1. */
  readonly next: () => number
  /** The same things in another order. */
  readonly shuffled: <A>(things: ReadonlyArray<A>) => ReadonlyArray<A>
}

/** Weyl's sequence, mixed: every seed has a period of 2³². */
export const make = (seed: number): Dice => {
  let state = Math.imul(seed, 0x9e3779b1) | 0
  const next = (): number => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 0x1_0000_0000
  }
  return {
    next,
    shuffled: (things) =>
      things.map((thing) => ({ thing, place: next() })).toSorted((one, other) => one.place - other.place)
        .map(({ thing }) => thing)
  }
}

/** Random choices that a seed repeats. */
export class Random {
  #state: number

  constructor(seed: number) {
    this.#state = seed >>> 0
  }

  /** Returns a number from 0 to 1, without 1 (the generator mulberry32). */
  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0
    let mixed = this.#state
    mixed = Math.imul(mixed ^ mixed >>> 15, mixed | 1)
    mixed ^= mixed + Math.imul(mixed ^ mixed >>> 7, mixed | 61)
    return ((mixed ^ mixed >>> 14) >>> 0) / 0x1_0000_0000
  }

  /** Returns an integer of this range, both ends included. */
  between(least: number, most: number): number {
    return least + Math.floor(this.next() * (most - least + 1))
  }

  chance(probability: number): boolean {
    return this.next() < probability
  }

  /** Returns one of the items; `undefined` if there is none. */
  pick<A>(items: ReadonlyArray<A>): A | undefined {
    return items[Math.floor(this.next() * items.length)]
  }

  /** Returns the items in another order. */
  shuffled<A>(items: ReadonlyArray<A>): ReadonlyArray<A> {
    return items.map((item) => ({ item, at: this.next() })).toSorted((one, other) => one.at - other.at)
      .map(({ item }) => item)
  }

  /** Returns a generator of its own, so that the order of other choices does not affect it. */
  fork(): Random {
    return new Random(this.between(0, 0xffff_ffff))
  }
}

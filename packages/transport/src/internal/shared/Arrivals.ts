import type { MemoryBudget } from "@effect-mcp/session/MemoryBudget"

/** A message of which not all bytes have arrived. */
export interface Arrival {
  /** The bytes that have arrived and count. {@link Arrivals} sets them. */
  bytes: number
  /** Drops what has arrived, and calls {@link Arrivals.end}. */
  readonly makeRoom: () => void
}

/** The messages that arrive over all connections of a server, bounded in their bytes together. */
export class Arrivals<A extends Arrival> implements Iterable<A> {
  readonly #budget: MemoryBudget
  readonly #limitBytes: number
  /** The one that began first comes first. */
  readonly #arriving = new Set<A>()
  #bytes = 0

  constructor(budget: MemoryBudget, limitBytes: number) {
    this.#budget = budget
    this.#limitBytes = limitBytes
  }

  get size(): number {
    return this.#arriving.size
  }

  /** Those that arrive, in the order in which they began. */
  [Symbol.iterator](): Iterator<A> {
    return this.#arriving[Symbol.iterator]()
  }

  begin(arrival: A): void {
    this.#arriving.add(arrival)
  }

  /**
   * Counts more bytes of a message, and charges them to the budget of the process. Without room the slowest message
   * makes some: one that is sent without delay is among the last, and is not what fills the memory.
   */
  grow(arrival: A, bytes: number): void {
    for (const slowest of this.#arriving) {
      if (this.#bytes + bytes <= this.#limitBytes && this.#budget.take(bytes)) {
        arrival.bytes += bytes
        this.#bytes += bytes
        return
      }
      slowest.makeRoom()
      if (slowest === arrival) return
    }
  }

  /** Counts a message no longer: it has arrived, or was dropped. */
  end(arrival: A): void {
    if (!this.#arriving.delete(arrival)) return
    this.#bytes -= arrival.bytes
    this.#budget.release(arrival.bytes)
    arrival.bytes = 0
  }
}

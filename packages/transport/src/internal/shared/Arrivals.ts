/** The messages that arrive over all connections of a server, with a bound on their bytes together. */
import type { MemoryBudget } from "@effect-mcp/session/MemoryBudget"

/** An unfinished message. */
export interface Arrival {
  /** The counted bytes that have arrived. {@link Arrivals} sets them. */
  bytes: number
  /** Drops the message, and calls {@link Arrivals.end}. */
  readonly makeRoom: () => void
}

export class Arrivals<A extends Arrival> implements Iterable<A> {
  readonly #budget: MemoryBudget
  readonly #limitBytes: number
  /** In the order in which they began. */
  readonly #arriving = new Set<A>()
  #bytes = 0

  constructor(budget: MemoryBudget, limitBytes: number) {
    this.#budget = budget
    this.#limitBytes = limitBytes
  }

  get size(): number {
    return this.#arriving.size
  }

  /** Iterates the unfinished messages, in the order in which they began. */
  [Symbol.iterator](): Iterator<A> {
    return this.#arriving[Symbol.iterator]()
  }

  begin(arrival: A): void {
    this.#arriving.add(arrival)
  }

  /**
   * Counts more bytes of a message, and charges them to the budget of the process. Without room, the message that began
   * first is dropped: a message that is sent without delay is among the last, and does not fill the memory.
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

  /** Removes a message that has arrived or was dropped. */
  end(arrival: A): void {
    if (!this.#arriving.delete(arrival)) return
    this.#bytes -= arrival.bytes
    this.#budget.release(arrival.bytes)
    arrival.bytes = 0
  }
}

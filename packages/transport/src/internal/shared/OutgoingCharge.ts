import * as MemoryBudget from "@effect-mcp/session/MemoryBudget"

/**
 * So many bytes of a connection are not charged: many connections hold as much for a moment, and most of them nothing.
 */
const uncharged = 64 * 1024

/**
 * The charge to the budget of the process for the bytes that one connection has taken and its peer has not. While the
 * budget is scarce, a connection takes no more than a little.
 */
export class OutgoingCharge {
  readonly #budget: MemoryBudget.MemoryBudget
  readonly #highWaterBytes: number
  #charged = 0

  constructor(budget: MemoryBudget.MemoryBudget, highWaterBytes: number) {
    this.#budget = budget
    this.#highWaterBytes = highWaterBytes
  }

  /** Is anything charged? */
  get isCharged(): boolean {
    return this.#charged > 0
  }

  /** Returns whether the connection may take another message while so many bytes wait. One of any size passes. */
  hasRoom(waitingBytes: number): boolean {
    return waitingBytes < this.#highWaterBytes &&
      (waitingBytes <= uncharged || !MemoryBudget.isScarce(this.#budget))
  }

  /** Charges what waits now, instead of what waited before. */
  update(waitingBytes: number): void {
    const excess = Math.max(0, waitingBytes - uncharged)
    if (excess === this.#charged) return
    this.#budget.release(this.#charged)
    this.#charged = this.#budget.take(excess) ? excess : 0
  }
}

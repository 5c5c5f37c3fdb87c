/** The charge to the `MemoryBudget` for the outgoing bytes of one connection. */
import * as MemoryBudget from "@effect-mcp/session/MemoryBudget"

/**
 * The bytes of each connection that are not charged: many connections hold as much for a moment, and most hold none.
 */
const uncharged = 64 * 1024

/** Charges the bytes that wait to be sent. While the budget is scarce, a connection takes few messages. */
export class OutgoingCharge {
  readonly #budget: MemoryBudget.MemoryBudget
  readonly #highWaterBytes: number
  #charged = 0

  constructor(budget: MemoryBudget.MemoryBudget, highWaterBytes: number) {
    this.#budget = budget
    this.#highWaterBytes = highWaterBytes
  }

  /** Whether any bytes are charged. */
  get isCharged(): boolean {
    return this.#charged > 0
  }

  /** Returns whether the connection may take another message, of any size, while so many bytes wait. */
  hasRoom(waitingBytes: number): boolean {
    return waitingBytes < this.#highWaterBytes &&
      (waitingBytes <= uncharged || !MemoryBudget.isScarce(this.#budget))
  }

  /** Replaces the charge. */
  update(waitingBytes: number): void {
    const excess = Math.max(0, waitingBytes - uncharged)
    if (excess === this.#charged) return
    this.#budget.release(this.#charged)
    this.#charged = this.#budget.take(excess) ? excess : 0
  }
}

/** Budgets of steps, which bound the time of work on foreign input. */

/** The error of an operation that needs more steps than its budget has left. */
export class StepsExhausted extends Error {}

/**
 * A budget of steps. A step is about ten nanoseconds of work, so that a number of steps bounds the time for which
 * foreign input blocks the event loop. Unlike a time, it does not depend on the speed of the machine.
 */
export interface Steps {
  /** Spends steps. Throws `StepsExhausted` if fewer are left. */
  readonly spend: (count: number) => void
  /** Sets the number of steps that are left. */
  readonly refill: (count: number) => void
}

class Budget implements Steps {
  left = 0

  spend(count: number): void {
    this.left -= count
    if (this.left < 0) throw new StepsExhausted()
  }

  refill(count: number): void {
    this.left = count
  }
}

export const make = (): Steps => new Budget()

/** A budget has been spent. */
export class StepsExhausted extends Error {}

/**
 * The steps that something may still take. A step is about ten nanoseconds of work, so that a number of steps bounds
 * the time for which foreign input holds the event loop, however fast the machine is.
 */
export interface Steps {
  /** Takes so many steps, or throws `StepsExhausted` if there are not as many left. */
  readonly spend: (count: number) => void
  /** Makes it so many steps again. */
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

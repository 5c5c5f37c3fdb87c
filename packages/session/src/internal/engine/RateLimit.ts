/** A limit of so many times a second. */
export class RateLimit {
  readonly #perSecond: number
  #second = Number.NEGATIVE_INFINITY
  #taken = 0

  constructor(perSecond: number) {
    this.#perSecond = perSecond
  }

  /**
   * Takes one of the times of this second, if there is one left. `now` is in milliseconds, on a clock that never jumps.
   */
  take(now: number): boolean {
    if (now - this.#second >= 1000) {
      this.#second = now
      this.#taken = 0
    }
    return ++this.#taken <= this.#perSecond
  }

  /** Returns the time until one can be taken, in milliseconds. */
  wait(now: number): number {
    const since = now - this.#second
    if (this.#perSecond <= 0) return Number.POSITIVE_INFINITY
    return since >= 1000 || this.#taken < this.#perSecond ? 0 : 1000 - since
  }
}

/**
 * So many times a second at most.
 */
export class RateLimit {
  readonly #perSecond: number
  #second = Number.NEGATIVE_INFINITY
  #taken = 0

  constructor(perSecond: number) {
    this.#perSecond = perSecond
  }

  /** Takes one of this second's times, if there is one left. The time is in milliseconds, on a clock that never jumps. */
  take(now: number): boolean {
    if (now - this.#second >= 1000) {
      this.#second = now
      this.#taken = 0
    }
    return ++this.#taken <= this.#perSecond
  }

  /** The time until one can be taken, in milliseconds. */
  wait(now: number): number {
    const since = now - this.#second
    if (this.#perSecond <= 0) return Number.POSITIVE_INFINITY
    return since >= 1000 || this.#taken < this.#perSecond ? 0 : 1000 - since
  }
}

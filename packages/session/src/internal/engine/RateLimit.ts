/** A limit on how often something happens per second. */
export class RateLimit {
  readonly #perSecond: number
  #second = Number.NEGATIVE_INFINITY
  #taken = 0

  constructor(perSecond: number) {
    this.#perSecond = perSecond
  }

  /** Returns whether it may happen so often more in this second. `now` is in milliseconds on a monotonic clock. */
  take(now: number, times = 1): boolean {
    if (now - this.#second >= 1000) {
      this.#second = now
      this.#taken = 0
    }
    if (this.#taken + times > this.#perSecond) return false
    this.#taken += times
    return true
  }

  /** Returns the milliseconds until `take` returns `true`. */
  wait(now: number): number {
    const since = now - this.#second
    if (this.#perSecond <= 0) return Number.POSITIVE_INFINITY
    return since >= 1000 || this.#taken < this.#perSecond ? 0 : 1000 - since
  }
}

/** How a stream that broke off is taken up again; durations in milliseconds. */
export interface ReconnectDelay {
  /** How often it is tried in a row without an event. */
  readonly attempts: number
  /** A stream that was open for so long was worth opening, though nothing came on it. */
  readonly maxMillis: number
  /**
   * How long to wait, after so many tries in a row that brought nothing. What the server wants to be waited for is waited for
   * (SHS-06); what it says does not take the place of backing off.
   */
  readonly millis: (fruitless: number, retryMillis: number | undefined) => number
}

export const make = (options: {
  readonly initialMillis: number
  readonly factor: number
  readonly maxMillis: number
  readonly attempts: number
}): ReconnectDelay => ({
  attempts: options.attempts,
  maxMillis: options.maxMillis,
  millis: (fruitless, retryMillis) =>
    fruitless === 0
      ? retryMillis ?? options.initialMillis
      : Math.max(retryMillis ?? 0, Math.min(options.maxMillis, options.initialMillis * options.factor ** fruitless))
})

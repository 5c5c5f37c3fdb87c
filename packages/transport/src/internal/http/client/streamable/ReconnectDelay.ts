/** When a client reconnects a stream that broke off, and opens a session anew; durations in milliseconds. */
import * as Effect from "effect/Effect"
import * as Random from "effect/Random"

/** The tries so far to reconnect one stream. */
export interface Tries {
  /** Tries in a row that brought no event. */
  readonly fruitless: number
  /** Answers in a row that brought no message. Events without data, such as priming events, are none. */
  readonly idle: number
  /** The server's `retry` field, as it came last. */
  readonly retryMillis: number | undefined
  /** The server's `Retry-After` header, if the last try was rejected with one. */
  readonly retryAfterMillis?: number | undefined
}

export interface ReconnectDelay {
  /** The number of tries in a row without an event, after which the stream of a request is given up. */
  readonly attempts: number
  /** The number of sessions in a row that may be opened anew in vain, before the connection fails. */
  readonly renewals: number
  /** A stream or a session that lasted this long was worth opening, even if nothing came of it. */
  readonly maxMillis: number
  /**
   * The delay before the next try. The client waits at least as long as the server asks (SHS-06), within bounds. The
   * server's delay does not replace the client's own back-off.
   */
  readonly millis: (tries: Tries) => number
  /**
   * The delay before a session is opened anew, after this many in a row, at least one, were in vain. Random by a fifth
   * either way.
   */
  readonly renewalMillis: (inVain: number) => Effect.Effect<number>
}

/**
 * The shortest delay that a server can ask for. With `retry: 0` and one event in each answer, a client would otherwise
 * send a request each millisecond.
 */
const shortestMillis = 100

/** The longest delay that a server can ask for: after that, the stream would never be reconnected. */
const longestMillis = 60 * 60 * 1000

export const make = (options: {
  readonly initialMillis: number
  readonly factor: number
  readonly maxMillis: number
  readonly attempts: number
  readonly renewals: number
}): ReconnectDelay => {
  const { attempts, factor, initialMillis, maxMillis, renewals } = options
  const backOff = (count: number): number => Math.min(maxMillis, initialMillis * factor ** count)
  // A program that reconnects sooner on its own account has nothing against a server that asks for it.
  const floorMillis = Math.min(shortestMillis, initialMillis)
  const ceilingMillis = Math.max(longestMillis, maxMillis)

  /** A server that has nothing to send is obeyed as long as it asks for no less than the client's own delay. */
  const asked = (millis: number, idle: number): number =>
    Math.min(ceilingMillis, Math.max(millis, Math.min(initialMillis, floorMillis * factor ** idle)))

  return {
    attempts,
    renewals,
    maxMillis,
    millis: ({ fruitless, idle, retryAfterMillis, retryMillis }) => {
      const byField = retryMillis === undefined ? undefined : asked(retryMillis, idle)
      const own = fruitless === 0 ? byField ?? initialMillis : Math.max(byField ?? 0, backOff(fruitless))
      return Math.max(own, Math.min(ceilingMillis, retryAfterMillis ?? 0))
    },
    renewalMillis: (inVain) =>
      Effect.map(Random.nextBetween(0.8, 1.2), (share) => Math.round(share * backOff(inVain - 1)))
  }
}

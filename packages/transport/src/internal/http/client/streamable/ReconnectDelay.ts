/**
 * The delays before a client reconnects a broken stream, or opens a session in place of a lost one; in milliseconds.
 */
import * as Effect from "effect/Effect"
import * as Random from "effect/Random"

/** The attempts so far to reconnect one stream. */
export interface Attempts {
  /** The attempts in a row without an event. */
  readonly withoutEvent: number
  /** The responses in a row without a message. Events without data, such as priming events, are not messages. */
  readonly withoutMessage: number
  /** The last `retry` field of the server. */
  readonly retryMillis: number | undefined
  /** The `Retry-After` header, if the last attempt was rejected with one. */
  readonly retryAfterMillis?: number | undefined
}

export interface ReconnectDelay {
  /** The number of attempts in a row without an event, after which the request of a stream fails. */
  readonly maxAttempts: number
  /** The number of renewed sessions in a row that may be lost without being useful, before the connection fails. */
  readonly maxRenewals: number
  /** A stream or a session that lasted this long was useful, even without an event. */
  readonly maxMillis: number
  /**
   * Returns the delay before the next attempt. The client waits at least as long as the server requests (SHS-06),
   * within bounds. The server's delay does not replace the client's own back-off.
   */
  readonly millis: (attempts: Attempts) => number
  /**
   * Returns the delay before the next session, after at least one session was useless. It varies at random by a fifth
   * in either direction.
   */
  readonly renewalMillis: (useless: number) => Effect.Effect<number>
}

/**
 * The shortest delay that a server can request. With `retry: 0` and one event in each answer, a client would otherwise
 * send a request each millisecond.
 */
const shortestMillis = 100

/** The longest delay that a server can request. A longer one would mean that the stream is never reconnected. */
const longestMillis = 60 * 60 * 1000

export const make = (options: {
  readonly initialMillis: number
  readonly factor: number
  readonly maxMillis: number
  readonly maxAttempts: number
  readonly maxRenewals: number
}): ReconnectDelay => {
  const { factor, initialMillis, maxAttempts, maxMillis, maxRenewals } = options
  const backOff = (count: number): number => Math.min(maxMillis, initialMillis * factor ** count)
  // A program that sets a shorter initial delay also accepts a shorter delay of the server.
  const floorMillis = Math.min(shortestMillis, initialMillis)
  const ceilingMillis = Math.max(longestMillis, maxMillis)

  /** Returns the server's delay within bounds. The lower bound grows while the server sends nothing. */
  const bounded = (millis: number, withoutMessage: number): number =>
    Math.min(ceilingMillis, Math.max(millis, Math.min(initialMillis, floorMillis * factor ** withoutMessage)))

  return {
    maxAttempts,
    maxRenewals,
    maxMillis,
    millis: ({ retryAfterMillis, retryMillis, withoutEvent, withoutMessage }) => {
      const byField = retryMillis === undefined ? undefined : bounded(retryMillis, withoutMessage)
      const own = withoutEvent === 0 ? byField ?? initialMillis : Math.max(byField ?? 0, backOff(withoutEvent))
      return Math.max(own, Math.min(ceilingMillis, retryAfterMillis ?? 0))
    },
    renewalMillis: (useless) =>
      Effect.map(Random.nextBetween(0.8, 1.2), (share) => Math.round(share * backOff(useless - 1)))
  }
}

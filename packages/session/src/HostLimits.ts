/**
 * The limits of a host: how many sessions it keeps, how long they live, and which of them makes room when it is full.
 */
import * as Duration from "effect/Duration"
import * as NumericOption from "./NumericOption.ts"

/**
 * Bounds of the number of sessions that a host keeps, and of their lifetimes. Every member has a default.
 *
 * **A full host makes room.** Most clients never end their sessions, so ordinary use fills a host. A newcomer that
 * finds no free place takes the place of another session, the first of these that there is:
 *
 * 1. The oldest session whose handshake is not finished. Nothing was done in it, so it may be any client's. It is safe
 *    for 3 seconds, so that the next newcomer does not evict a client in the middle of its handshake. The exception is
 *    an anonymous client with many more unfinished handshakes (16) than the newcomer: it could otherwise keep all
 *    others out by opening sessions quickly. Anonymous clients are distinguished by `OpenOptions.client`.
 * 2. The session of the newcomer's own principal that is unused for longest, and for 3 seconds at least.
 * 3. A session of the anonymous client that has more than half of all places, if there is one and the newcomer is
 *    another client: the one that is unused for longest, and for 3 seconds at least, or else the one that is held for
 *    longest, even with requests in flight. Otherwise one client could keep all others out by using or holding each of
 *    its sessions.
 * 4. The anonymous session that is unused for longest. For an anonymous newcomer it must be unused for
 *    `anonymousEvictionTimeout`. For a newcomer with a principal 3 seconds are enough.
 *
 * For anonymous newcomers, the last two happen `maxAnonymousEvictionsPerSecond` times a second at most. A principal
 * that has `maxPerPrincipal` makes room among its own sessions, by the first two rules. A session that was used by one
 * principal never ends for another, and only the third rule ends a session that a connection holds or that has requests
 * in flight.
 *
 * The victim closes as `Evicted`. Over Streamable HTTP its client receives status 404 with its next request, and begins
 * a new session (SHS-27). With a `SessionStore`, a session whose handshake is finished is only unloaded: the store
 * keeps it, and it is restored when its client comes back. If there is no victim, the newcomer is refused with
 * `HostFull`.
 *
 * @category options
 */
export interface Options {
  /** The number of sessions at a time. Default 10,000. */
  readonly max?: number
  /**
   * The number of sessions of one principal. Default 1,000, but no more than `max`. Anonymous sessions are not
   * counted.
   */
  readonly maxPerPrincipal?: number
  /**
   * The time that a client may take to finish its handshake: from the answer to `initialize` until
   * `notifications/initialized` or a first request other than `ping`. Then the session is closed as `HandshakeTimeout`,
   * whatever else is done with it. Default 60 seconds.
   */
  readonly handshakeTimeout?: Duration.Input
  /**
   * How long a session may be left alone, that is neither touched nor held nor with a request in flight; then it is
   * closed as `Expired`. Default 30 minutes.
   */
  readonly idle?: Duration.Input
  /**
   * The time that an anonymous session must be left alone before another anonymous client may have its place on a full
   * host. Default 5 minutes.
   */
  readonly anonymousEvictionTimeout?: Duration.Input
  /** The number of anonymous sessions that are evicted for anonymous clients in a second. Default 10. */
  readonly maxAnonymousEvictionsPerSecond?: number
  /** How old a session may become, whatever is done with it; then it is closed as `Expired`. Default: any age. */
  readonly maxAge?: Duration.Input
}

/**
 * Every limit, with durations in milliseconds; `Infinity` where there is none.
 *
 * @category models
 */
export interface HostLimits {
  readonly max: number
  readonly maxPerPrincipal: number
  readonly handshakeTimeout: number
  readonly idle: number
  readonly maxAge: number
  readonly anonymousEvictionTimeout: number
  readonly maxAnonymousEvictionsPerSecond: number
}

const { countFromZero, duration } = NumericOption

const rules: NumericOption.Rules<Options> = {
  max: countFromZero,
  maxPerPrincipal: countFromZero,
  handshakeTimeout: duration,
  idle: duration,
  maxAge: duration,
  anonymousEvictionTimeout: duration,
  maxAnonymousEvictionsPerSecond: countFromZero
}

/**
 * Fills in the defaults. Throws an `InvalidOption` for a number that makes no sense.
 *
 * @example
 * ```ts
 * import { HostLimits } from "@effect-mcp/session"
 *
 * export const ofOne = HostLimits.make({ max: 500 }).maxPerPrincipal // => 500
 * ```
 *
 * @category constructors
 */
export const make = (options: Options = {}): HostLimits => {
  NumericOption.check(options, rules, "sessions.")
  const { max = 10_000, maxPerPrincipal = 1000 } = options
  return {
    max,
    maxPerPrincipal: Math.min(maxPerPrincipal, max),
    handshakeTimeout: Duration.toMillis(options.handshakeTimeout ?? "60 seconds"),
    idle: Duration.toMillis(options.idle ?? "30 minutes"),
    maxAge: Duration.toMillis(options.maxAge ?? Duration.infinity),
    anonymousEvictionTimeout: Duration.toMillis(options.anonymousEvictionTimeout ?? "5 minutes"),
    maxAnonymousEvictionsPerSecond: options.maxAnonymousEvictionsPerSecond ?? 10
  }
}

/**
 * The limits of a host: the number of its sessions, their lifetimes, and the eviction of sessions when it is full.
 *
 * @stability unstable
 */
import type * as Duration from "effect/Duration"

/**
 * Limits of the number of sessions of a host, and of their lifetimes. Every member has a default.
 *
 * **A full host evicts.** Most clients never end their sessions, so ordinary use fills a host. A new session that finds
 * no free slot, the newcomer, takes the slot of another session, the victim. The victim is the first of these sessions
 * that exists:
 *
 * 1. The oldest session whose handshake is not finished. Its opening and the response to `initialize` protect it for 3
 *    seconds each, so that a client can finish its handshake. They do not protect an anonymous client that has over 16
 *    unfinished handshakes more than the newcomer: it could otherwise keep all others out by opening sessions quickly.
 *    `OpenOptions.client` distinguishes anonymous clients.
 * 2. The least recently used session of the newcomer's own principal, or of the same anonymous client, if it is unused
 *    for 3 seconds.
 * 3. A session of the anonymous client that has more than half of all slots, if the newcomer is another client. This is
 *    its least recently used session, if that is unused for 3 seconds, or else the one that is held for longest, even
 *    with requests in flight. Otherwise one client could keep all others out by using or holding each of its sessions.
 * 4. The least recently used anonymous session. For an anonymous newcomer it must be unused for
 *    `anonymousEvictionTimeout`, for a newcomer with a principal for 3 seconds.
 *
 * For anonymous newcomers, rules 2 to 4 apply at most `maxAnonymousEvictionsPerSecond` times per second. If a
 * principal has `maxPerPrincipal` sessions, only rules 1 and 2 apply, to its own sessions. A session that a principal
 * has used never closes for another principal. Only rule 3 closes a session that a connection holds or that has
 * requests in flight.
 *
 * The victim closes as `Evicted`. Over Streamable HTTP the next request of its client is answered with 404, and the
 * client initializes again (SHS-27). With a `SessionStore`, a victim whose handshake is finished stays in the store,
 * and is restored at the next request of its client. If there is no victim, opening the new session fails with
 * `HostFullError`.
 *
 * @category options
 */
export interface Options {
  /** The number of sessions of the host. Default 10,000. */
  readonly max?: number
  /**
   * The number of sessions of one principal. Default 1,000, but at most `max`. Does not apply to anonymous sessions.
   */
  readonly maxPerPrincipal?: number
  /**
   * The time that a client has to finish its handshake: from the response to `initialize` until
   * `notifications/initialized` or the first request other than `ping`. After it the session closes as
   * `HandshakeTimeout`, even if it is held. Default 60 seconds.
   */
  readonly handshakeTimeout?: Duration.Input
  /**
   * The time for which a session can be idle, that is neither used nor held nor with a request in flight. After it the
   * session closes as `Expired`. Default 30 minutes.
   */
  readonly idleTimeout?: Duration.Input
  /**
   * The time for which an anonymous session must be unused before a full host can evict it for another anonymous
   * client. Default 5 minutes. With `Infinity`, no anonymous session is evicted for an anonymous client, not even for
   * the same one.
   */
  readonly anonymousEvictionTimeout?: Duration.Input
  /** The number of anonymous sessions that are evicted for anonymous clients per second. Default 10. */
  readonly maxAnonymousEvictionsPerSecond?: number
  /** The age at which a session closes as `Expired`, even if it is in use. Default: no limit. */
  readonly maxAge?: Duration.Input
}

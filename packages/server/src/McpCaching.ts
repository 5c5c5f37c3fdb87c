/**
 * Hints for the caches of clients of revision 2026-07-28: for the lists of a server, and for its resources.
 *
 * @stability unstable
 */
import type * as Duration from "effect/Duration"

/**
 * A hint for caches.
 *
 * @category models
 */
export interface CacheHint {
  /** The time for which a client may keep the result without asking again (CCH-01). */
  readonly ttl: Duration.Input
  /**
   * `"public"` lets proxies and clients share the result among users. It is sent only if no check decides who gets the
   * result: no member of the groups in the list has `visible`, and the resource has neither `visible` nor middleware.
   * Default: `"private"`.
   */
  readonly scope?: "private" | "public"
}

/**
 * The hints of the lists of a server. A list without a hint is stale at once.
 *
 * @category models
 */
export interface ListHints {
  readonly tools?: CacheHint
  readonly prompts?: CacheHint
  readonly resources?: CacheHint
  readonly resourceTemplates?: CacheHint
}

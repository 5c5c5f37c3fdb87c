/** Hints for the caches of clients, in revision 2026-07-28: the time for which a result may be kept, and for whom. */

/** The principals that may get a kept result: `"private"` the one that asked for it, `"public"` any. */
export type Scope = "private" | "public"

/** The hint for the caches of clients (CCH-01, CCH-02). */
export interface CacheHint {
  /** The time for which the result is fresh, in milliseconds. 0 means that it is stale at once. */
  readonly ttlMs: number
  readonly cacheScope: Scope
}

/** The hint of results that are not to be kept: stale at once, and private. */
export const none: CacheHint = { ttlMs: 0, cacheScope: "private" }

/** The methods whose results have a hint (CCH-01). */
export const methods: ReadonlySet<string> = new Set([
  "server/discover",
  "tools/list",
  "prompts/list",
  "resources/list",
  "resources/templates/list",
  "resources/read"
])

/**
 * Reads the hint of a received result. A missing, negative or otherwise invalid time counts as 0 (CCH-03), and a scope
 * that is not `"public"` as private.
 */
export const read = (result: { readonly ttlMs?: unknown; readonly cacheScope?: unknown }): CacheHint => ({
  ttlMs: typeof result.ttlMs === "number" && Number.isFinite(result.ttlMs) ? Math.max(0, Math.trunc(result.ttlMs)) : 0,
  cacheScope: result.cacheScope === "public" ? "public" : "private"
})

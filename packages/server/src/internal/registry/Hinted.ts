/** Hints for caches in results, for clients of revisions that have them. */

import { Revision } from "@effect-mcp/protocol"
import type { Caching } from "@effect-mcp/protocol/internal"
import { NumericOption, PreparedResult } from "@effect-mcp/session/internal"
import * as RequestContext from "@effect-mcp/session/RequestContext"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import type { CacheHint } from "../../McpCaching.ts"

/** Adds a hint to a result. `isForAll`: the result is the same for every client. */
export type Hinted = <A extends object>(
  result: A,
  isForAll: boolean
) => Effect.Effect<A, never, RequestContext.RequestContext>

/** Returns the function that adds this hint. A result that depends on the client is never public (CCH-08). */
export const make = (hint: CacheHint | undefined, option: string): Hinted => {
  if (hint === undefined) return Effect.succeed
  const { scope = "private", ttl } = hint
  NumericOption.check({ ttl }, { ttl: NumericOption.duration }, `${option}.`)
  // JSON has no infinite number.
  const ttlMs = Math.min(Math.trunc(Duration.toMillis(ttl)), Number.MAX_SAFE_INTEGER)
  const hints: { readonly [Scope in Caching.Scope]: Caching.CacheHint } = {
    public: { ttlMs, cacheScope: "public" },
    private: { ttlMs, cacheScope: "private" }
  }
  return (result, isForAll) =>
    Effect.map(RequestContext.RequestContext, ({ profile: { revision } }) => {
      if (!Revision.isModern(revision)) return result
      const added = hints[isForAll ? scope : "private"]
      return PreparedResult.derive(result, added, (result) => ({ ...result, ...added }))
    })
}

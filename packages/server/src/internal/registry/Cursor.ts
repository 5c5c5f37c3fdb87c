/** Cursors of lists: the key of the last item of a page, in a form that clients do not interpret (PAG-02). */

import { McpError } from "@effect-mcp/protocol"
import * as Effect from "effect/Effect"
import * as Base64Url from "effect/encoding/Base64Url"
import * as Result from "effect/Result"

/** The beginning of each cursor. It distinguishes the lists, so that a cursor of one is invalid in another. */
const prefixOf = (method: string): string => `${method} after `

/** Returns the key after which the page of a cursor begins (PAG-06). */
const keyOf = (method: string, cursor: string): Effect.Effect<string, McpError.McpError> => {
  const decoded = Base64Url.decodeString(cursor)
  const prefix = prefixOf(method)
  return Result.isSuccess(decoded) && decoded.success.startsWith(prefix)
    ? Effect.succeed(decoded.success.slice(prefix.length))
    : Effect.fail(McpError.invalidParams(`${method}: the cursor is none of this list; begin again without a cursor`))
}

/** A page, and the cursor of the next one. */
export interface Page<A> {
  /** The index of the first item in the list. */
  readonly start: number
  readonly items: ReadonlyArray<A>
  readonly nextCursor: string | undefined
}

/**
 * Returns a page of items, which are sorted by their keys. A page begins after the key of its cursor, so that changes
 * of the list between two pages repeat and skip no other item (PAG-05).
 */
export const page = <A>(
  method: string,
  items: ReadonlyArray<A>,
  keyOfItem: (item: A) => string,
  cursor: string | undefined,
  size: number
): Effect.Effect<Page<A>, McpError.McpError> => {
  const from = (start: number): Page<A> => {
    const last = items[start + size - 1]
    const hasMore = last !== undefined && start + size < items.length
    return {
      start,
      items: start === 0 && !hasMore ? items : items.slice(start, start + size),
      nextCursor: hasMore ? Base64Url.encode(prefixOf(method) + keyOfItem(last)) : undefined
    }
  }
  if (cursor === undefined) return Effect.succeed(from(0))
  return Effect.map(keyOf(method, cursor), (key) => {
    const next = items.findIndex((item) => keyOfItem(item) > key)
    return next < 0 ? { start: items.length, items: [], nextCursor: undefined } : from(next)
  })
}

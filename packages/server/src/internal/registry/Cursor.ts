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
  readonly items: ReadonlyArray<A>
  readonly nextCursor: string | undefined
}

/** Returns the index of the first item with a greater key. The items are sorted by their keys. */
const indexAfter = <A>(items: ReadonlyArray<A>, keyOfItem: (item: A) => string, key: string): number => {
  let from = 0
  let to = items.length
  while (from < to) {
    const middle = (from + to) >>> 1
    const item = items[middle]
    if (item !== undefined && keyOfItem(item) > key) to = middle
    else from = middle + 1
  }
  return from
}

/**
 * Returns the index of the first item of a page. A page begins after the key of its cursor, so that changes of the list
 * between two pages repeat and skip no other item (PAG-05).
 */
export const startOf = <A>(
  method: string,
  items: ReadonlyArray<A>,
  keyOfItem: (item: A) => string,
  cursor: string | undefined
): Effect.Effect<number, McpError.McpError> =>
  cursor === undefined
    ? Effect.succeed(0)
    : Effect.map(keyOf(method, cursor), (key) => indexAfter(items, keyOfItem, key))

/** Returns the page of items that begins at an index. The items are sorted by their keys. */
export const page = <A>(
  method: string,
  items: ReadonlyArray<A>,
  keyOfItem: (item: A) => string,
  start: number,
  size: number
): Page<A> => {
  const last = items[start + size - 1]
  const hasMore = last !== undefined && start + size < items.length
  return {
    items: start === 0 && !hasMore ? items : items.slice(start, start + size),
    nextCursor: hasMore ? Base64Url.encode(prefixOf(method) + keyOfItem(last)) : undefined
  }
}

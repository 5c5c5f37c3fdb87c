/**
 * A long list, a page at a time. A cursor says behind which item its page begins, so it stays good while the list changes
 * (PAG-05).
 */
import * as McpError from "@effect-mcp/protocol/McpError"
import * as Effect from "effect/Effect"
import * as Base64Url from "effect/encoding/Base64Url"
import * as Result from "effect/Result"

/** How many items a page holds. */
const size = 3

/** What a cursor begins with, before it is made opaque. */
const behind = "behind "

export interface Page<A> {
  readonly items: ReadonlyArray<A>
  readonly rest: { readonly nextCursor?: string }
}

/** The key of the item before the page; the first page has none. */
const decode = (cursor: string | undefined): Effect.Effect<string, McpError.McpError> => {
  if (cursor === undefined) return Effect.succeed("")
  const decoded = Base64Url.decodeString(cursor)
  return Result.isSuccess(decoded) && decoded.success.startsWith(behind)
    ? Effect.succeed(decoded.success.slice(behind.length))
    : Effect.fail(McpError.invalidParams(`Unknown cursor: ${cursor}`))
}

/** One page of items that are ordered by a key which is never empty. An unknown cursor is refused (PAG-06). */
export const page = Effect.fnUntraced(function*<A>(
  all: ReadonlyArray<A>,
  keyOf: (item: A) => string,
  cursor: string | undefined
): Effect.fn.Return<Page<A>, McpError.McpError> {
  const last = yield* decode(cursor)
  const remaining = all.filter((item) => keyOf(item) > last)
  const items = remaining.slice(0, size)
  const end = items.at(-1)
  return {
    items,
    rest: end === undefined || remaining.length <= size ? {} : { nextCursor: Base64Url.encode(behind + keyOf(end)) }
  }
})

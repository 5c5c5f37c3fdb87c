/**
 * A list in pages. A cursor contains the key of the item before its page, so it stays valid when the list changes
 * (PAG-05).
 */
import * as McpError from "@effect-mcp/protocol/McpError"
import * as Effect from "effect/Effect"
import * as Base64Url from "effect/encoding/Base64Url"
import * as Result from "effect/Result"

/** The number of items on a page. */
const pageSize = 3

/** The prefix of a cursor, before it is encoded. */
const cursorPrefix = "after "

export interface Page<A> {
  readonly items: ReadonlyArray<A>
  readonly rest: { readonly nextCursor?: string }
}

/** Returns the key of the item before the page. It is empty for the first page. */
const decode = (cursor: string | undefined): Effect.Effect<string, McpError.McpError> => {
  if (cursor === undefined) return Effect.succeed("")
  const decoded = Base64Url.decodeString(cursor)
  return Result.isSuccess(decoded) && decoded.success.startsWith(cursorPrefix)
    ? Effect.succeed(decoded.success.slice(cursorPrefix.length))
    : Effect.fail(McpError.invalidParams(`Unknown cursor: ${cursor}`))
}

/** Returns one page of items, which are ordered by a non-empty key. Rejects an unknown cursor (PAG-06). */
export const page = Effect.fnUntraced(function*<A>(
  all: ReadonlyArray<A>,
  keyOf: (item: A) => string,
  cursor: string | undefined
): Effect.fn.Return<Page<A>, McpError.McpError> {
  const previousKey = yield* decode(cursor)
  const remaining = all.filter((item) => keyOf(item) > previousKey)
  const items = remaining.slice(0, pageSize)
  const last = items.at(-1)
  const isLastPage = last === undefined || remaining.length <= pageSize
  return { items, rest: isLastPage ? {} : { nextCursor: Base64Url.encode(cursorPrefix + keyOf(last)) } }
})

/**
 * A long list in pages. A cursor names the item before its page, so that it stays valid while the list changes
 * (PAG-05).
 */
import * as McpError from "@effect-mcp/protocol/McpError"
import * as Effect from "effect/Effect"
import * as Base64Url from "effect/encoding/Base64Url"
import * as Result from "effect/Result"

/** The number of items on a page. */
const size = 3

/** The prefix of a cursor, before it is encoded. */
const behind = "behind "

export interface Page<A> {
  readonly items: ReadonlyArray<A>
  readonly rest: { readonly nextCursor?: string }
}

/** Returns the key of the item before the page; `undefined` for the first page. */
const decode = (cursor: string | undefined): Effect.Effect<string, McpError.McpError> => {
  if (cursor === undefined) return Effect.succeed("")
  const decoded = Base64Url.decodeString(cursor)
  return Result.isSuccess(decoded) && decoded.success.startsWith(behind)
    ? Effect.succeed(decoded.success.slice(behind.length))
    : Effect.fail(McpError.invalidParams(`Unknown cursor: ${cursor}`))
}

/** Returns one page of items, which are ordered by a non-empty key. Rejects an unknown cursor (PAG-06). */
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

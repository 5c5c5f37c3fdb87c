/**
 * Excerpts of what a peer sent, for the errors that go back to it. Without a limit, the peer would decide how long an
 * error is, and how much waits to be sent.
 *
 * @since 0.1.0
 */

/**
 * The length of an excerpt, in UTF-16 units, unless told otherwise: 128.
 *
 * @category constants
 * @since 0.1.0
 */
export const defaultLength = 128

const ellipsis = "…"

/**
 * Returns the text, or its beginning and an ellipsis if it is longer than the limit. Never cuts a surrogate pair in
 * two.
 *
 * @example
 * ```ts
 * import { Excerpt, McpError } from "@effect-mcp/protocol"
 *
 * export const unknownTool = (name: string) => McpError.invalidParams(`Unknown tool: ${Excerpt.of(name)}`)
 *
 * export const short = Excerpt.of("tools/call", 6) // => "tools…"
 * ```
 *
 * @category formatting
 * @since 0.1.0
 */
export const of = (text: string, length: number = defaultLength): string => {
  if (text.length <= length) return text
  const cut = length - ellipsis.length
  const unit = text.charCodeAt(cut - 1)
  const splitsPair = unit >= 0xD800 && unit < 0xDC00
  return `${text.slice(0, splitsPair ? cut - 1 : cut)}${ellipsis}`
}

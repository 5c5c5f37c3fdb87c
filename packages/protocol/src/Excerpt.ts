/**
 * Excerpts of a peer's text, for errors that are sent back. Without a limit, the peer would decide the size of an
 * error, and the amount of data that waits to be sent.
 */

/**
 * The default length of an excerpt: 128 UTF-16 units.
 *
 * @category constants
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
 */
export const of = (text: string, length: number = defaultLength): string => {
  if (text.length <= length) return text
  const cut = length - ellipsis.length
  const unit = text.charCodeAt(cut - 1)
  const splitsPair = unit >= 0xD800 && unit < 0xDC00
  return `${text.slice(0, splitsPair ? cut - 1 : cut)}${ellipsis}`
}

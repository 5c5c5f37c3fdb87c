/** Text of servers for errors and logs: escaped for a terminal, and of a bounded length. */

import { Excerpt } from "@effect-mcp/protocol"
import * as PlainText from "../PlainText.ts"

/** The length of a text in an error or in the log, in UTF-16 units. */
export const longest = 4_096

/**
 * Escapes a text, and cuts it. It is cut before it is escaped as well, because a server decides its length, and escaped
 * characters are longer.
 */
const escaped = (value: string, length: number, escape: (value: string) => string): string =>
  Excerpt.of(escape(Excerpt.of(value, length)), length)

/** Returns a text of several lines. */
export const text = (value: string, length = longest): string => escaped(value, length, PlainText.text)

/** Returns a text in one line. */
export const line = (value: string, length = longest): string => escaped(value, length, PlainText.line)

/** Returns a name in quotes, at most 128 characters of it. */
export const name = (value: string): string => PlainText.json(Excerpt.of(value))

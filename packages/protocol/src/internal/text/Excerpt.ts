/**
 * Excerpts of a peer's text, for errors that are sent back and for logs.
 *
 * Without a limit, the peer would decide the size of an error or of a log line, and the amount of data that waits to be
 * sent.
 */
import * as PlainText from "../../PlainText.ts"

/** The default length of an excerpt: 128 UTF-16 units. */
export const defaultLength = 128

const ellipsis = "…"

/**
 * Returns the text, or its beginning and an ellipsis if it is longer than the limit. Never cuts a surrogate pair in
 * two.
 */
export const of = (text: string, length: number = defaultLength): string => {
  if (text.length <= length) return text
  const cut = length - ellipsis.length
  const unit = text.charCodeAt(cut - 1)
  const splitsPair = unit >= 0xD800 && unit < 0xDC00
  return `${text.slice(0, splitsPair ? cut - 1 : cut)}${ellipsis}`
}

/** The default length of an excerpt in a log or in the message of an error: 4,096 UTF-16 units. */
export const loggedLength = 4_096

/**
 * Escapes a text, and cuts it. It is cut before it is escaped as well, because the peer decides its length, and escaped
 * characters are longer.
 */
const escaped = (value: string, length: number, escape: (value: string) => string): string =>
  of(escape(of(value, length)), length)

/**
 * Returns a text of several lines for a log. It is escaped as by `PlainText.text`, and then cut at the length. Default:
 * {@link loggedLength}.
 */
export const text = (value: string, length: number = loggedLength): string => escaped(value, length, PlainText.text)

/**
 * Returns a text in one line for a log. It is escaped as by `PlainText.line`, and then cut at the length. Default:
 * {@link loggedLength}.
 */
export const line = (value: string, length: number = loggedLength): string => escaped(value, length, PlainText.line)

/** Returns a name in quotes for a log: at most {@link defaultLength} units of it, escaped as by `PlainText.json`. */
export const name = (value: string): string => PlainText.json(of(value))

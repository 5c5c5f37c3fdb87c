/**
 * The formats of the text fields of forms. Each check takes time in proportion to the length of the text.
 *
 * None rejects a text that the format allows. Letters outside of ASCII are accepted in mail addresses and URIs, as
 * people write them.
 */
import type { StringField } from "../ElicitationSchema.ts"

type Format = NonNullable<StringField["format"]>

/** A character that separates words, or that no text shows. */
const separator = /[\s\u0000-\u001f\u007f]/

/** Returns whether this is labels between dots, or an address in brackets. */
const isDomain = (text: string): boolean =>
  text.startsWith("[")
    ? text.length > 2 && text.indexOf("]") === text.length - 1
    : text !== "" && !text.startsWith(".") && !text.includes("..") && !/[[\]]/.test(text)

/** Returns whether this is a name without blanks, or one in quotes. */
const isMailbox = (text: string): boolean =>
  text.startsWith("\"")
    ? text.length > 1 && text.endsWith("\"") && !/[\r\n]/.test(text)
    : text !== "" && !/["@]/.test(text) && !separator.test(text)

const isMailAddress = (text: string): boolean => {
  const at = text.lastIndexOf("@")
  const after = text.slice(at + 1)
  return at > 0 && isMailbox(text.slice(0, at)) && isDomain(after) && !separator.test(after)
}

/** A character that RFC 3986 excludes. A percent sign begins two hexadecimal digits. */
const excludedFromUri = /[\s\u0000-\u001f\u007f"<>\\^`{|}]|%(?![0-9A-Fa-f]{2})/

const isUri = (text: string): boolean => /^[A-Za-z][A-Za-z0-9+.-]*:/.test(text) && !excludedFromUri.test(text)

const longMonths = [31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]

const isDate = (text: string): boolean => {
  const [, year, month, day] = (/^(\d{4})-(\d{2})-(\d{2})$/.exec(text) ?? []).map(Number)
  if (year === undefined || month === undefined || day === undefined) return false
  const isLeapYear = year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0)
  const days = month === 2 && !isLeapYear ? 28 : longMonths[month - 1]
  return days !== undefined && day >= 1 && day <= days
}

/** The time of RFC 3339, with an offset. A minute may have a leap second. */
const time = /^(?:[01]\d|2[0-3]):[0-5]\d:(?:[0-5]\d|60)(?:\.\d+)?(?:z|[+-](?:[01]\d|2[0-3]):[0-5]\d)$/i

const isDateAndTime = (text: string): boolean =>
  /^.{10}t/i.test(text) && isDate(text.slice(0, 10)) && time.test(text.slice(11))

const formats: { readonly [Name in Format]: readonly [described: string, test: (text: string) => boolean] } = {
  email: ["a mail address, such as ada@example.com", isMailAddress],
  uri: ["a URI, such as https://example.com", isUri],
  date: ["a date, such as 2026-01-31", isDate],
  "date-time": ["a date and time with an offset, such as 2026-01-31T12:00:00Z", isDateAndTime]
}

/** Returns the problem of a text that is not in this format. */
export const problemOf = (format: Format, text: string): string | undefined => {
  const [described, test] = formats[format]
  return test(text) ? undefined : `is not ${described}`
}

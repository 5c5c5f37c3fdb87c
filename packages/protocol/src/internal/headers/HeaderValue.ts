/**
 * The values of the headers that repeat a part of the request's body, in revision 2026-07-28.
 *
 * A text that a header cannot carry is encoded as `=?base64?…?=` (SHE-19).
 */
import * as Base64 from "effect/encoding/Base64"
import * as Option from "effect/Option"
import * as Result from "effect/Result"

const prefix = "=?base64?"
const suffix = "?="

/** Visible ASCII, blanks and tabs, with a visible character at each end (RFC 9110, section 5.5). */
const plain = /^(?:[\x21-\x7E](?:[\x20-\x7E\t]*[\x21-\x7E])?)?$/

const isEncoded = (value: string): boolean =>
  value.startsWith(prefix) && value.endsWith(suffix) && value.length >= prefix.length + suffix.length

/** Encodes a text as the value of a header. A text that could be mistaken for an encoded one is encoded as well. */
export const encode = (text: string): string =>
  plain.test(text) && !isEncoded(text) ? text : `${prefix}${Base64.encode(text)}${suffix}`

/**
 * Decodes the value of a header. Returns none if a header cannot have this value, or if an encoded value is not base64
 * of UTF-8 (SHE-20).
 */
export const decode = (value: string): Option.Option<string> => {
  if (!plain.test(value)) return Option.none()
  if (!isEncoded(value)) return Option.some(value)
  const encoded = value.slice(prefix.length, -suffix.length)
  const text = Base64.decodeString(encoded)
  // Bytes that are no UTF-8 become other characters, whose encoding differs.
  return Result.isSuccess(text) && Base64.encode(text.success) === encoded
    ? Option.some(text.success)
    : Option.none()
}

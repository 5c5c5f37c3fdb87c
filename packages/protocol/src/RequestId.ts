/**
 * Request ids. An id identifies a request within one direction of a session.
 *
 * @stability unstable
 */
import * as Schema from "effect/Schema"

/**
 * A JSON-RPC request id: a string or a whole number. `1` and `"1"` are two different ids (MSG-03, law 3).
 *
 * @category models
 */
export type RequestId = string | number

/**
 * The schema of a {@link RequestId}.
 *
 * @category schemas
 */
export const RequestId: Schema.Codec<RequestId> = Schema.Union([Schema.String, Schema.Int])

/**
 * Tests whether a value is a request id. Fractions, unsafe integers, `null`, booleans and objects are not (MSG-03,
 * MSG-04).
 *
 * @example
 * ```ts
 * import { RequestId } from "@effect-mcp/protocol"
 *
 * export const answers = [RequestId.isRequestId(0), RequestId.isRequestId("0"), RequestId.isRequestId(1.5)]
 * // => [true, true, false]
 * ```
 *
 * @category guards
 */
export const isRequestId = (value: unknown): value is RequestId =>
  typeof value === "string" || (typeof value === "number" && Number.isSafeInteger(value))

/**
 * Returns the number that an id is the decimal text of, and `undefined` for any other id. Some peers return a number as
 * its text; the sender of the request then knows which one was meant.
 *
 * @example
 * ```ts
 * import { RequestId } from "@effect-mcp/protocol"
 *
 * export const numbers = ["0", "17", "017", "1.0", 17].map(RequestId.numberIn)
 * // => [0, 17, undefined, undefined, undefined]
 * ```
 *
 * @category parsing
 */
export const numberIn = (id: unknown): number | undefined => {
  if (typeof id !== "string" || !/^(?:0|[1-9][0-9]{0,15})$/.test(id)) return undefined
  const number = Number(id)
  return Number.isSafeInteger(number) ? number : undefined
}

/**
 * The maximum size of an id and of a progress token: 4,096 bytes of UTF-8. A receiver keeps the id of a request and
 * sends it back. Without a limit, the sender would decide the memory of the receiver.
 *
 * @category constants
 */
export const maximumBytes = 4096

/** The length below which a string is never too long, because a UTF-16 unit is at most three bytes of UTF-8. */
const neverTooLong = Math.floor(maximumBytes / 3)

/** Returns the size of a character in UTF-8. A lone surrogate becomes a replacement character of three bytes. */
const bytesOf = (codePoint: number): number =>
  codePoint < 0x80 ? 1 : codePoint < 0x800 ? 2 : codePoint < 0x10000 ? 3 : 4

/**
 * Tests whether an id or a progress token exceeds {@link maximumBytes}. Only strings that could exceed it are measured.
 *
 * @example
 * ```ts
 * import { RequestId } from "@effect-mcp/protocol"
 *
 * export const lengths = [4096, 4097].map((length) => RequestId.isTooLong("a".repeat(length)))
 * // => [false, true]
 * ```
 *
 * @category guards
 */
export const isTooLong = (value: unknown): boolean => {
  if (typeof value !== "string" || value.length <= neverTooLong) return false
  if (value.length > maximumBytes) return true
  let bytes = 0
  for (const character of value) bytes += bytesOf(character.codePointAt(0) ?? 0)
  return bytes > maximumBytes
}

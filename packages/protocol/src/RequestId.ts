/**
 * The identity of one request within one direction of one session.
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"

/**
 * A JSON-RPC request id: a string or a whole number. `1` and `"1"` are two different ids (MSG-03, law 3).
 *
 * @category models
 * @since 0.1.0
 */
export type RequestId = string | number

/**
 * The schema of a {@link RequestId}.
 *
 * @category schemas
 * @since 0.1.0
 */
export const RequestId: Schema.Codec<RequestId> = Schema.Union([Schema.String, Schema.Int])

/**
 * Is this value a request id? Fractions, unsafe integers, `null`, booleans and objects are not (MSG-03, MSG-04).
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
 * @since 0.1.0
 */
export const isRequestId = (value: unknown): value is RequestId =>
  typeof value === "string" || (typeof value === "number" && Number.isSafeInteger(value))

/**
 * The longest id, and the longest progress token, that a message may carry: 4,096 bytes of UTF-8. A receiver keeps an
 * id as long as its request and sends it back, so without a limit the sender would decide how much the receiver holds.
 *
 * @category constants
 * @since 0.1.0
 */
export const maximumBytes = 4096

/** One UTF-16 unit is at most three bytes of UTF-8: a text no longer than this cannot exceed the limit. */
const neverTooLong = Math.floor(maximumBytes / 3)

/** The bytes of UTF-8 that a character comes to; half of a surrogate pair becomes a replacement character of three. */
const bytesOf = (codePoint: number): number =>
  codePoint < 0x80 ? 1 : codePoint < 0x800 ? 2 : codePoint < 0x10000 ? 3 : 4

/**
 * Returns whether an id or a progress token is a text of more than {@link maximumBytes}. Measures only texts that could
 * be.
 *
 * @example
 * ```ts
 * import { RequestId } from "@effect-mcp/protocol"
 *
 * export const answers = [RequestId.isTooLong(1), RequestId.isTooLong("a".repeat(4096)), RequestId.isTooLong("a".repeat(4097))]
 * // => [false, false, true]
 * ```
 *
 * @category guards
 * @since 0.1.0
 */
export const isTooLong = (value: unknown): boolean => {
  if (typeof value !== "string" || value.length <= neverTooLong) return false
  if (value.length > maximumBytes) return true
  let bytes = 0
  for (const character of value) bytes += bytesOf(character.codePointAt(0) ?? 0)
  return bytes > maximumBytes
}

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

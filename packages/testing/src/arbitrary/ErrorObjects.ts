/**
 * Arbitrary error objects.
 *
 * @stability unstable
 */
import { ErrorCode, type JsonRpc } from "@effect-mcp/protocol"
import * as Arbitrary from "effect/Arbitrary"
import * as Schema from "effect/Schema"
import { choose, oneOf } from "../internal/arbitrary/generators.ts"
import { text } from "../internal/arbitrary/oddText.ts"
import { overTheWire } from "../internal/arbitrary/overTheWire.ts"

/**
 * Generates a code with a meaning: of JSON-RPC, of MCP, or of this implementation.
 *
 * @example
 * ```ts
 * import { ErrorObjects } from "@effect-mcp/testing/arbitrary"
 * import * as Arbitrary from "effect/Arbitrary"
 * import * as Effect from "effect/Effect"
 *
 * export const codes = Effect.map(
 *   Arbitrary.sampleEffect(ErrorObjects.knownCode, { count: 100, seed: 1 }),
 *   (codes) => codes.includes(-32601)
 * ) // => true
 * ```
 *
 * @category arbitraries
 */
export const knownCode: Arbitrary.Arbitrary<number> = oneOf<number>(
  ErrorCode.InternalError,
  ErrorCode.InvalidParams,
  ErrorCode.MethodNotFound,
  ErrorCode.InvalidRequest,
  ErrorCode.ParseError,
  ErrorCode.ResourceNotFound,
  ErrorCode.UrlElicitationRequired,
  ErrorCode.Overloaded
)

/**
 * Generates any code of an error: known codes, the limits of the reserved ranges, and other whole numbers.
 *
 * @example
 * ```ts
 * import { ErrorObjects } from "@effect-mcp/testing/arbitrary"
 * import * as Arbitrary from "effect/Arbitrary"
 * import * as Effect from "effect/Effect"
 *
 * export const outcome = Effect.map(
 *   Arbitrary.checkEffect(ErrorObjects.code, Number.isSafeInteger, { seed: 1 }),
 *   (result) => result._tag
 * ) // => "Passed"
 * ```
 *
 * @category arbitraries
 */
export const code: Arbitrary.Arbitrary<number> = choose(
  knownCode,
  oneOf(0, 1, -1, -31_999, -32_000, -32_019, -32_020, -32_099, -32_100, -32_768, -32_769, 404, 2 ** 31, -(2 ** 53) + 1),
  Arbitrary.map(Arbitrary.schema(Schema.Int), (code) => code === 0 ? 0 : code)
)

/**
 * Generates an error object: any code, any message, with or without data (MSG-10).
 *
 * @example
 * ```ts
 * import { McpError } from "@effect-mcp/protocol"
 * import { ErrorObjects } from "@effect-mcp/testing/arbitrary"
 * import * as Arbitrary from "effect/Arbitrary"
 *
 * // What a handler may fail with.
 * export const failure = Arbitrary.map(ErrorObjects.errorObject, McpError.received)
 * ```
 *
 * @category arbitraries
 */
export const errorObject: Arbitrary.Arbitrary<JsonRpc.ErrorObject> = Arbitrary.map(
  Arbitrary.all([code, text, choose<unknown>(Arbitrary.Constant(undefined), Arbitrary.schema(Schema.Json))]),
  ([code, message, data]) => data === undefined ? { code, message } : { code, message, data: overTheWire(data) }
)

/**
 * An error that travels: what a handler fails with, and what its peer receives.
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"
import * as ErrorCode from "./ErrorCode.ts"
import * as Excerpt from "./Excerpt.ts"

/**
 * The error object of a JSON-RPC error response as a typed failure: a whole-number code, a message for people, and
 * optional data (MSG-10). A handler that fails with it is answered with exactly these three.
 *
 * @example
 * ```ts
 * import { McpError } from "@effect-mcp/protocol"
 * import * as Effect from "effect/Effect"
 *
 * export const refused = Effect.fail(McpError.invalidParams("Unknown tool: subtract"))
 * ```
 *
 * @category errors
 * @since 0.1.0
 */
export class McpError extends Schema.TaggedError<McpError>()("McpError", {
  code: Schema.Int,
  message: Schema.String,
  data: Schema.optionalKey(Schema.Unknown)
}) {}

/**
 * The error that a peer answered with. Only what an error consists of is taken over, whatever else the peer put beside it
 * (MSG-10).
 *
 * @example
 * ```ts
 * import { McpError } from "@effect-mcp/protocol"
 *
 * const error = McpError.received({ code: -32002, message: "Resource not found", data: { uri: "file:///notes" } })
 *
 * export const data = error.data // => { uri: "file:///notes" }
 * ```
 *
 * @category constructors
 * @since 0.1.0
 */
export const received = ({ code, data, message }: {
  readonly code: number
  readonly message: string
  readonly data?: unknown
}): McpError => new McpError(data === undefined ? { code, message } : { code, message, data })

const make = (code: number) => (message: string, data?: unknown): McpError => received({ code, message, data })

/**
 * −32600: the request may not be sent now, or is none.
 *
 * @example
 * ```ts
 * import { McpError } from "@effect-mcp/protocol"
 * import * as Effect from "effect/Effect"
 *
 * export const closed = Effect.fail(McpError.invalidRequest("The shop opens at nine"))
 * ```
 *
 * @category constructors
 * @since 0.1.0
 */
export const invalidRequest: (message: string, data?: unknown) => McpError = make(ErrorCode.InvalidRequest)

/**
 * −32601: the method is not served here. The message has 128 characters of its name at most.
 *
 * @example
 * ```ts
 * import { McpError } from "@effect-mcp/protocol"
 *
 * export const message = McpError.methodNotFound("tools/cal").message // => "Method not found: tools/cal"
 * ```
 *
 * @category constructors
 * @since 0.1.0
 */
export const methodNotFound = (method: string): McpError =>
  make(ErrorCode.MethodNotFound)(`Method not found: ${Excerpt.of(method)}`)

/**
 * −32602: the params do not fit; say in the message which and why.
 *
 * @example
 * ```ts
 * import { McpError } from "@effect-mcp/protocol"
 * import * as Effect from "effect/Effect"
 *
 * export const count = (to: unknown) =>
 *   typeof to === "number"
 *     ? Effect.succeed(to)
 *     : Effect.fail(McpError.invalidParams("\"to\" is no number", { parameter: "to" }))
 * ```
 *
 * @category constructors
 * @since 0.1.0
 */
export const invalidParams: (message: string, data?: unknown) => McpError = make(ErrorCode.InvalidParams)

/**
 * −32603 with a message that gives nothing away: the cause belongs into the log, never to the peer.
 *
 * @example
 * ```ts
 * import { McpError } from "@effect-mcp/protocol"
 * import * as Effect from "effect/Effect"
 *
 * export const discreet = <A, R>(query: Effect.Effect<A, Error, R>) =>
 *   Effect.catch(query, (error) => Effect.andThen(Effect.logError(error), Effect.fail(McpError.internalError)))
 * ```
 *
 * @category constructors
 * @since 0.1.0
 */
export const internalError: McpError = make(ErrorCode.InternalError)("Internal error")

/**
 * The error of a handler, as its peer receives it.
 *
 * @stability unstable
 */
import * as Predicate from "effect/Predicate"
import * as Schema from "effect/Schema"
import type { ClientCapabilities } from "./Capabilities.ts"
import * as ErrorCode from "./ErrorCode.ts"
import * as Excerpt from "./internal/text/Excerpt.ts"
import * as Scope from "./internal/text/Scope.ts"

/**
 * The error object of a JSON-RPC error response as a typed failure: a whole-number code, a message, and optional data
 * (MSG-10). If a handler fails with it, the peer receives exactly these three members.
 *
 * @example
 * ```ts
 * import { McpError } from "@effect-mcp/protocol"
 * import * as Effect from "effect/Effect"
 *
 * export const unknownTool = Effect.fail(McpError.invalidParams("Unknown tool: subtract"))
 * ```
 *
 * @category errors
 */
export class McpError extends Schema.TaggedError<McpError>()("McpError", {
  code: Schema.Int,
  message: Schema.String,
  data: Schema.optionalKey(Schema.Unknown)
}) {}

/**
 * Creates an error from the error object of a response. Members besides the code, the message and the data are dropped
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
 */
export const received = ({ code, data, message }: {
  readonly code: number
  readonly message: string
  readonly data?: unknown
}): McpError => new McpError(data === undefined ? { code, message } : { code, message, data })

const make = (code: number) => (message: string, data?: unknown): McpError => received({ code, message, data })

/**
 * Creates an error with code −32600: the message is not a request, or the request is not allowed now.
 *
 * @example
 * ```ts
 * import { McpError } from "@effect-mcp/protocol"
 * import * as Effect from "effect/Effect"
 *
 * export const rebuilding = Effect.fail(McpError.invalidRequest("The index is being rebuilt"))
 * ```
 *
 * @category constructors
 */
export const invalidRequest: (message: string, data?: unknown) => McpError = make(ErrorCode.InvalidRequest)

/**
 * Creates an error with code −32601: the receiver does not serve the method. The message contains at most 128
 * characters of the method's name.
 *
 * @example
 * ```ts
 * import { McpError } from "@effect-mcp/protocol"
 *
 * export const message = McpError.methodNotFound("tools/cal").message // => "Method not found: tools/cal"
 * ```
 *
 * @category constructors
 */
export const methodNotFound = (method: string): McpError =>
  make(ErrorCode.MethodNotFound)(`Method not found: ${Excerpt.of(method)}`)

/**
 * Creates an error with code −32602: the params are invalid. The message should name the member and the reason.
 *
 * @example
 * ```ts
 * import { McpError } from "@effect-mcp/protocol"
 * import * as Effect from "effect/Effect"
 *
 * export const count = (to: unknown) =>
 *   typeof to === "number"
 *     ? Effect.succeed(to)
 *     : Effect.fail(McpError.invalidParams("\"to\" is not a number", { parameter: "to" }))
 * ```
 *
 * @category constructors
 */
export const invalidParams: (message: string, data?: unknown) => McpError = make(ErrorCode.InvalidParams)

/**
 * Creates an error with code −32002: no resource has this URI (RES-05). The data contains the URI. The message contains
 * at most 128 characters of it.
 *
 * @example
 * ```ts
 * import { McpError } from "@effect-mcp/protocol"
 *
 * export const { code, message, data } = McpError.resourceNotFound("file:///notes")
 * export const error = { code, message, data }
 * // => { code: -32002, message: "Resource not found: file:///notes", data: { uri: "file:///notes" } }
 * ```
 *
 * @category constructors
 */
export const resourceNotFound = (uri: string): McpError =>
  make(ErrorCode.ResourceNotFound)(`Resource not found: ${Excerpt.of(uri)}`, { uri })

/**
 * Tests whether an error says that no resource has the requested URI. The code is −32002 in revisions with a handshake,
 * and −32602 with the URI in its data in revision 2026-07-28 (RES-06). A server of that revision may still send the
 * older code (MSG-24).
 *
 * @example
 * ```ts
 * import { McpError } from "@effect-mcp/protocol"
 *
 * export const answers = [
 *   McpError.isResourceNotFound(McpError.resourceNotFound("file:///notes")),
 *   McpError.isResourceNotFound(McpError.invalidParams("Resource not found", { uri: "file:///notes" })),
 *   McpError.isResourceNotFound(McpError.invalidParams("\"to\" is not a number"))
 * ] // => [true, true, false]
 * ```
 *
 * @category guards
 */
export const isResourceNotFound = ({ code, data }: McpError): boolean =>
  code === ErrorCode.ResourceNotFound ||
  (code === ErrorCode.InvalidParams && Predicate.hasProperty(data, "uri") && typeof data.uri === "string")

/**
 * The error with code −32603. Its message discloses no cause: log the cause instead of sending it to the peer.
 *
 * @example
 * ```ts
 * import { McpError } from "@effect-mcp/protocol"
 * import * as Effect from "effect/Effect"
 *
 * export const hideCause = <A, R>(query: Effect.Effect<A, Error, R>) =>
 *   Effect.catch(query, (error) => Effect.andThen(Effect.logError(error), Effect.fail(McpError.internalError)))
 * ```
 *
 * @category constructors
 */
export const internalError: McpError = make(ErrorCode.InternalError)("Internal error")

/**
 * Creates an error with code −31011: the program of the client has answered a question of the server in a way that does
 * not fit the question. The problem must have no words of the user.
 *
 * @example
 * ```ts
 * import { McpError } from "@effect-mcp/protocol"
 *
 * export const message = McpError.invalidAnswer("\"age\" is less than 18").message
 * // => "Invalid answer, which was not sent: \"age\" is less than 18"
 * ```
 *
 * @category constructors
 */
export const invalidAnswer = (problem: string): McpError =>
  make(ErrorCode.InvalidAnswer)(`Invalid answer, which was not sent: ${problem}`)

/**
 * Creates an error with code −32020: a header of the request differs from its body (SHE-12, SHE-17).
 *
 * @example
 * ```ts
 * import { McpError } from "@effect-mcp/protocol"
 *
 * export const message = McpError.headerMismatch("the header mcp-method is missing").message
 * // => "Header mismatch: the header mcp-method is missing"
 * ```
 *
 * @category constructors
 */
export const headerMismatch = (problem: string): McpError =>
  make(ErrorCode.HeaderMismatch)(`Header mismatch: ${problem}`)

/**
 * Creates an error with code −32021: the request needs capabilities that its client has not declared in it (VER-11).
 * The data lists them, and the message says which method needs them.
 *
 * @example
 * ```ts
 * import { McpError } from "@effect-mcp/protocol"
 *
 * const error = McpError.missingCapability("elicitation/create", { elicitation: { form: {} } })
 *
 * export const data = error.data // => { requiredCapabilities: { elicitation: { form: {} } } }
 * ```
 *
 * @category constructors
 */
export const missingCapability = (method: string, requiredCapabilities: ClientCapabilities): McpError =>
  make(ErrorCode.MissingRequiredClientCapability)(
    `${Excerpt.of(method)} needs a capability that the client has not declared: declare it in the request`,
    { requiredCapabilities }
  )

/**
 * Creates an error with code −32022: the server does not serve the requested revision (VER-07). The data has those that
 * it serves, so that the client can choose one of them.
 *
 * @example
 * ```ts
 * import { McpError } from "@effect-mcp/protocol"
 *
 * export const data = McpError.unsupportedVersion("1900-01-01", ["2026-07-28"]).data
 * // => { supported: ["2026-07-28"], requested: "1900-01-01" }
 * ```
 *
 * @category constructors
 */
export const unsupportedVersion = (requested: string, supported: ReadonlyArray<string>): McpError => {
  const excerpt = Excerpt.of(requested)
  return make(ErrorCode.UnsupportedProtocolVersion)(`Unsupported protocol version: ${excerpt}`, {
    supported,
    requested: excerpt
  })
}

/**
 * Creates an error with code −31012: the sender of the request lacks a scope that the operation needs. A handler that
 * demands scopes by its arguments fails with it. Over HTTP it becomes 403 with a challenge, if the response has not
 * begun (AUT-46). `scopes` are all scopes of the operation, also those that the sender has (AUT-47).
 *
 * @example
 * ```ts
 * import { McpError } from "@effect-mcp/protocol"
 *
 * const error = McpError.insufficientScope(["notes:read", "notes:write"])
 *
 * export const data = error.data // => { scopes: ["notes:read", "notes:write"] }
 * ```
 *
 * @category constructors
 */
export const insufficientScope = (scopes: ReadonlyArray<string>): McpError =>
  make(ErrorCode.InsufficientScope)(`Insufficient scope: this operation needs ${scopes.join(" ")}`, { scopes })

/**
 * Creates an error with code −31013: the request may have been carried out, and its result is not known. A server of
 * several processes sends it for the requests of a process that has ended.
 *
 * @example
 * ```ts
 * import { McpError } from "@effect-mcp/protocol"
 *
 * const error = McpError.outcomeUnknown("The process that served the request has ended")
 *
 * export const data = error.data // => { outcome: "unknown" }
 * ```
 *
 * @category constructors
 */
export const outcomeUnknown = (message: string): McpError =>
  make(ErrorCode.OutcomeUnknown)(message, { outcome: "unknown" })

/**
 * Tests whether an error says that the request may have been carried out: its code is −31013, and its data says so. A
 * server may have an error of its own with this code.
 *
 * @example
 * ```ts
 * import { McpError } from "@effect-mcp/protocol"
 *
 * export const answers = [
 *   McpError.isOutcomeUnknown(McpError.outcomeUnknown("The process has ended")),
 *   McpError.isOutcomeUnknown({ code: -31013, data: undefined })
 * ] // => [true, false]
 * ```
 *
 * @category guards
 */
export const isOutcomeUnknown = ({ code, data }: { readonly code: number; readonly data?: unknown }): boolean =>
  code === ErrorCode.OutcomeUnknown && Predicate.hasProperty(data, "outcome") && data.outcome === "unknown"

/**
 * Returns the scopes that an operation needs, from the error of a request whose sender lacks one of them. Returns
 * `undefined` for any other error, and if the data has no scopes.
 *
 * @example
 * ```ts
 * import { McpError } from "@effect-mcp/protocol"
 *
 * export const scopes = McpError.missingScopes(McpError.insufficientScope(["notes:write"])) // => ["notes:write"]
 * ```
 *
 * @category getters
 */
export const missingScopes = (
  { code, data }: { readonly code: number; readonly data?: unknown }
): ReadonlyArray<string> | undefined => {
  if (code !== ErrorCode.InsufficientScope || !Predicate.hasProperty(data, "scopes")) return undefined
  const { scopes } = data
  return Array.isArray(scopes) && scopes.length > 0 && scopes.every(Scope.isScope) ? scopes : undefined
}

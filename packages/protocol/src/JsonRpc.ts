/**
 * JSON-RPC 2.0 as MCP uses it: the kinds of message, and their classification before any schema runs.
 *
 * @stability unstable
 */
import { InternalError } from "./ErrorCode.ts"
import * as Excerpt from "./internal/text/Excerpt.ts"
import { trust } from "./internal/trust.ts"
import { isRequestId, isTooLong, maximumBytes, type RequestId } from "./RequestId.ts"

/**
 * The params of a request or a notification on the wire: always by name.
 *
 * @category models
 */
export interface Params {
  readonly [name: string]: unknown
}

/**
 * A message that requires a response.
 *
 * @category models
 */
export interface Request {
  readonly jsonrpc: "2.0"
  readonly id: RequestId
  readonly method: string
  readonly params?: Params
}

/**
 * A message without a response (MSG-11, MSG-12).
 *
 * @category models
 */
export interface Notification {
  readonly jsonrpc: "2.0"
  readonly method: string
  readonly params?: Params
}

/**
 * A response that carries a result.
 *
 * @category models
 */
export interface Success {
  readonly jsonrpc: "2.0"
  readonly id: RequestId
  readonly result: unknown
}

/**
 * The error of a response on the wire.
 *
 * @category models
 */
export interface ErrorObject {
  readonly code: number
  readonly message: string
  readonly data?: unknown
}

/**
 * A response that carries an error. The id is absent or `null` only when that of the request could not be read
 * (MSG-09): absent from revision 2025-11-25 on and before negotiation, `null` in older ones.
 *
 * @category models
 */
export interface Failure {
  readonly jsonrpc: "2.0"
  readonly id?: RequestId | null
  readonly error: ErrorObject
}

/**
 * Either kind of response.
 *
 * @category models
 */
export type Response = Success | Failure

/**
 * Any message.
 *
 * @category models
 */
export type Message = Request | Notification | Response

/**
 * The unit that a transport carries: a message, or the responses to a batch. Only revision 2025-03-26 has batches
 * (MSG-15).
 *
 * @category models
 */
export type Frame = Message | ReadonlyArray<Response>

/**
 * JSON that is not a JSON-RPC message. `answerable` states whether a receiver may reply with an error. An object that
 * looks like a response, or has no method, is never answered: two peers could answer each other's errors forever.
 *
 * @category models
 */
export interface Malformed {
  readonly id: RequestId | undefined
  readonly answerable: boolean
  readonly problem: string
  /**
   * Whether the only fault is an id or a progress token of more than 4,096 bytes. Both sides answer such a message,
   * without an id, because an id of that size is never sent back.
   */
  readonly tooLong?: true
  /** The id of the request that this message answers, if it can only be a response. */
  readonly answers?: RequestId
  /**
   * The response that the message was meant as, if there is no doubt. It has both a result and an error, one of which
   * is `null`, or its error code is a string. A code that is not a whole number becomes `InternalError` (-32603), and
   * the message of the error keeps it.
   */
  readonly meant?: Response
}

/**
 * The kind of a frame.
 *
 * @category models
 */
export type Classified =
  | { readonly _tag: "Request"; readonly message: Request }
  | { readonly _tag: "Notification"; readonly message: Notification }
  | { readonly _tag: "Response"; readonly message: Response }
  | { readonly _tag: "Batch"; readonly frames: ReadonlyArray<unknown> }
  | { readonly _tag: "Malformed"; readonly malformed: Malformed }

const malformed = (id: RequestId | undefined, answerable: boolean, problem: string): Classified => ({
  _tag: "Malformed",
  malformed: { id, answerable, problem }
})

/**
 * Rejects a request or a notification with an oversized id or progress token, which the receiver would keep and send
 * back.
 */
const tooLong = (name: string): Classified => ({
  _tag: "Malformed",
  malformed: {
    id: undefined,
    answerable: true,
    problem: `${name} is longer than ${maximumBytes} bytes`,
    tooLong: true
  }
})

/** The members that decide the kind of a frame, before their types are checked. */
interface Envelope {
  readonly jsonrpc?: unknown
  readonly id?: unknown
  readonly method?: unknown
  readonly params?: NamingParams | null
  readonly result?: unknown
  readonly error?: { readonly code?: unknown; readonly message?: unknown } | null
}

/** The params that identify a request, before their types are checked. */
interface NamingParams {
  readonly requestId?: unknown
  readonly progressToken?: unknown
  readonly _meta?: { readonly progressToken?: unknown } | null
}

const isObject = (value: unknown): value is object => typeof value === "object" && value !== null

/**
 * Classifies a frame by its members, without copying it: unknown members are kept (MSG-01, MSG-03, MSG-04, MSG-08). The
 * frames of a batch are not classified. Whether a batch is allowed depends on the revision.
 *
 * @example
 * ```ts
 * import { JsonRpc } from "@effect-mcp/protocol"
 *
 * export const kind = JsonRpc.classify({ jsonrpc: "2.0", id: 1, method: "ping" })._tag // => "Request"
 * ```
 *
 * @category parsing
 */
export const classify = (frame: unknown): Classified => {
  if (!isObject(frame)) return malformed(undefined, true, "a message is a JSON object")
  if (Array.isArray(frame)) {
    const frames: ReadonlyArray<unknown> = frame
    return frames.length > 0
      ? { _tag: "Batch", frames }
      : malformed(undefined, true, "a batch holds at least one message")
  }
  const envelope: Envelope = frame
  const id = isRequestId(envelope.id) ? envelope.id : undefined
  const carriesResult = "result" in frame
  const carriesError = "error" in frame
  if (carriesResult || carriesError || !("method" in frame)) {
    return classifyResponse(frame, envelope, id, carriesResult, carriesError)
  }
  if (isTooLong(id)) return tooLong("the id")
  if (typeof envelope.method !== "string") return malformed(id, true, "a method is a string")
  if (envelope.jsonrpc !== "2.0") return malformed(id, true, "jsonrpc must be \"2.0\"")
  // Here and below, the members of the frame that its type names have been checked.
  if (!("id" in frame)) {
    return overlongIn(envelope.method, envelope.params) ?? { _tag: "Notification", message: trust<Notification>(frame) }
  }
  if (id === undefined) return malformed(undefined, true, "an id is a string or a whole number")
  return isTooLong(envelope.params?._meta?.progressToken)
    ? tooLong("the progress token")
    : { _tag: "Request", message: trust<Request>(frame) }
}

/** Rejects a notification that identifies a request by an oversized id or progress token. */
const overlongIn = (method: string, params: Envelope["params"]): Classified | undefined => {
  if (method === "notifications/cancelled" && isTooLong(params?.requestId)) return tooLong("the id")
  if (method === "notifications/progress" && isTooLong(params?.progressToken)) return tooLong("the progress token")
  return undefined
}

const classifyResponse = (
  frame: object,
  envelope: Envelope,
  id: RequestId | undefined,
  carriesResult: boolean,
  carriesError: boolean
): Classified => {
  if ("method" in frame) return malformed(id, false, "a message is a request or a response, not both")
  const rejected = (problem: string, meant?: object): Classified => notResponse(id, problem, meant)
  if (!carriesResult && !carriesError) return rejected("no method, no result and no error")
  if (envelope.jsonrpc !== "2.0") return rejected("jsonrpc must be \"2.0\"")
  const { error, ...withoutError } = envelope
  if (carriesResult && carriesError) {
    const { result, ...withoutResult } = envelope
    const meant = error === null ? withoutError : result === null ? withoutResult : undefined
    return rejected("a response has a result or an error, not both", meant)
  }
  // Here and below, the members of the frame that its type names have been checked.
  if (carriesResult) {
    return id === undefined
      ? rejected("a result must carry the id of its request")
      : { _tag: "Response", message: trust<Success>(frame) }
  }
  if (!isObject(error) || !Number.isSafeInteger(error.code) || typeof error.message !== "string") {
    const meant = isObject(error) ? withCode(error) : undefined
    return rejected(
      typeof error === "string"
        ? `an error has a whole-number code and a message; this one is the text ${JSON.stringify(Excerpt.of(error))}`
        : "an error has a whole-number code and a message",
      meant === undefined ? undefined : { ...withoutError, error: meant }
    )
  }
  return id === undefined && envelope.id !== undefined && envelope.id !== null
    ? rejected("an id is a string or a whole number")
    : { _tag: "Response", message: trust<Failure>(frame) }
}

/** Creates the classification of a malformed response, which is never answered. */
const notResponse = (id: RequestId | undefined, problem: string, meant: object | undefined): Classified => {
  const read = meant === undefined ? undefined : classify(meant)
  const response = read?._tag === "Response"
    ? read.message
    : read?._tag === "Malformed"
    ? read.malformed.meant
    : undefined
  return {
    _tag: "Malformed",
    malformed: {
      id,
      answerable: false,
      problem,
      ...(id === undefined ? undefined : { answers: id }),
      ...(response === undefined ? undefined : { meant: response })
    }
  }
}

/** The maximum length of an error code that is a string. */
const codeCharacters = 100

/** Replaces the code of an error, if it is a string, by a number. */
const withCode = (error: NonNullable<Envelope["error"]>): object | undefined => {
  const { code, message } = error
  if (typeof code !== "string" || typeof message !== "string") return undefined
  if (/^-?[0-9]{1,15}$/.test(code)) return { ...error, code: Number(code) }
  return {
    ...error,
    code: InternalError,
    message: `${message} (code ${JSON.stringify(code.slice(0, codeCharacters))})`
  }
}

/**
 * Returns the messages of a frame: one message, those of a batch, or none if the frame is malformed. For observers.
 *
 * @example
 * ```ts
 * import { JsonRpc } from "@effect-mcp/protocol"
 *
 * export const ids = JsonRpc.messages([JsonRpc.success(1, {}), JsonRpc.success(2, {})]).length // => 2
 * ```
 *
 * @category parsing
 */
export const messages = (frame: unknown): ReadonlyArray<Message> => {
  const classified = classify(frame)
  switch (classified._tag) {
    case "Malformed":
      return []
    case "Batch":
      return classified.frames.flatMap((inner) => Array.isArray(inner) ? [] : messages(inner))
    default:
      return [classified.message]
  }
}

/**
 * Tests whether a frame is a request: it has a method and an id.
 *
 * @example
 * ```ts
 * import { JsonRpc } from "@effect-mcp/protocol"
 *
 * export const isPing = (frame: JsonRpc.Frame) => JsonRpc.isRequest(frame) && frame.method === "ping"
 * ```
 *
 * @category guards
 */
export const isRequest = (frame: Frame): frame is Request => "method" in frame && "id" in frame

/**
 * Tests whether a frame is a notification: it has a method and no id (MSG-11).
 *
 * @example
 * ```ts
 * import { JsonRpc } from "@effect-mcp/protocol"
 *
 * export const isReady = (frame: JsonRpc.Frame) =>
 *   JsonRpc.isNotification(frame) && frame.method === "notifications/initialized"
 * ```
 *
 * @category guards
 */
export const isNotification = (frame: Frame): frame is Notification => "method" in frame && !("id" in frame)

/**
 * Tests whether a frame holds the responses to a batch (MSG-15).
 *
 * @example
 * ```ts
 * import { JsonRpc } from "@effect-mcp/protocol"
 *
 * const answered = (frame: JsonRpc.Frame) => JsonRpc.isBatch(frame) ? frame.map(({ id }) => id) : []
 *
 * export const ids = answered([JsonRpc.success(1, {}), JsonRpc.success(2, {})]) // => [1, 2]
 * ```
 *
 * @category guards
 */
export const isBatch = (frame: Frame): frame is ReadonlyArray<Response> => Array.isArray(frame)

/**
 * Creates a request (MSG-03). Undefined params are omitted: the wire never carries `params: null`.
 *
 * @example
 * ```ts
 * import { JsonRpc } from "@effect-mcp/protocol"
 *
 * export const call = JsonRpc.request(1, "tools/call", { name: "add" })
 * // => { jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "add" } }
 * export const ping = JsonRpc.request(2, "ping", undefined) // => { jsonrpc: "2.0", id: 2, method: "ping" }
 * ```
 *
 * @category constructors
 */
export const request = (id: RequestId, method: string, params: Params | undefined): Request =>
  params === undefined ? { jsonrpc: "2.0", id, method } : { jsonrpc: "2.0", id, method, params }

/**
 * Creates a notification (MSG-11). Undefined params are omitted.
 *
 * @example
 * ```ts
 * import { JsonRpc } from "@effect-mcp/protocol"
 *
 * export const ready = JsonRpc.notification("notifications/initialized")
 * // => { jsonrpc: "2.0", method: "notifications/initialized" }
 * ```
 *
 * @category constructors
 */
export const notification = (method: string, params?: Params): Notification =>
  params === undefined ? { jsonrpc: "2.0", method } : { jsonrpc: "2.0", method, params }

/**
 * Creates a response with a result.
 *
 * @example
 * ```ts
 * import { JsonRpc } from "@effect-mcp/protocol"
 *
 * export const pong = JsonRpc.success(1, {}) // => { jsonrpc: "2.0", id: 1, result: {} }
 * ```
 *
 * @category constructors
 */
export const success = (id: RequestId, result: unknown): Success => ({ jsonrpc: "2.0", id, result })

/**
 * Creates a response with an error, from a plain object or an `McpError`. If the id of the request is unreadable, pass
 * `undefined` or `null`, as the revision requires (MSG-09).
 *
 * @example
 * ```ts
 * import { JsonRpc, McpError } from "@effect-mcp/protocol"
 *
 * export const unknownMethod = JsonRpc.failure(1, McpError.methodNotFound("tools/cal"))
 * // => { jsonrpc: "2.0", id: 1, error: { code: -32601, message: "Method not found: tools/cal" } }
 * ```
 *
 * @category constructors
 */
export const failure = (id: RequestId | null | undefined, error: ErrorObject): Failure => {
  const object: ErrorObject = error.data === undefined
    ? { code: error.code, message: error.message }
    : { code: error.code, message: error.message, data: error.data }
  return id === undefined ? { jsonrpc: "2.0", error: object } : { jsonrpc: "2.0", id, error: object }
}

/**
 * Tests whether a response carries an error.
 *
 * @example
 * ```ts
 * import { JsonRpc, McpError } from "@effect-mcp/protocol"
 *
 * const codeOf = (response: JsonRpc.Response) => JsonRpc.isFailure(response) ? response.error.code : undefined
 *
 * export const codes = [
 *   codeOf(JsonRpc.failure(1, McpError.methodNotFound("tools/cal"))),
 *   codeOf(JsonRpc.success(2, {}))
 * ] // => [-32601, undefined]
 * ```
 *
 * @category guards
 */
export const isFailure = (response: Response): response is Failure => "error" in response

/**
 * Returns a response as it is, or an internal error in its place if JSON cannot represent it: it contains a `bigint` or
 * a cycle, or it is too long for one string. Without this, the sender of the request would wait until its deadline.
 *
 * @example
 * ```ts
 * import { JsonRpc } from "@effect-mcp/protocol"
 *
 * export const reply = JsonRpc.serializable(JsonRpc.success(1, { count: 42n }))
 * // => { jsonrpc: "2.0", id: 1, error: { code: -32603, message: "Internal error" } }
 * ```
 *
 * @category constructors
 */
export const serializable = (response: Response): Response => {
  try {
    JSON.stringify(response)
    return response
  } catch {
    return failure(response.id, { code: InternalError, message: "Internal error" })
  }
}

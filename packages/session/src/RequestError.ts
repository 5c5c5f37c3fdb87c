/**
 * Errors of requests and notifications that this side sends.
 *
 * @stability unstable
 */
import { CloseReason, type InputRequired, type McpError, type Meta } from "@effect-mcp/protocol"
import { Excerpt } from "@effect-mcp/protocol/internal"
import * as Data from "effect/Data"
import type { TransportError } from "./TransportError.ts"
import type { UnsupportedSchemaError } from "./UnsupportedSchemaError.ts"

/**
 * The kinds of {@link RequestError}. The peer sent only `ErrorResponse`, and an error that means `OutcomeUnknown`. The
 * others arise on this side, and none of them can be mistaken for an error of the peer (MSG-27).
 *
 * - `ErrorResponse`: the peer replied with an error.
 * - `Timeout`: no response arrived within `afterMillis`. The peer was sent a cancellation (TMO-03).
 * - `Closed`: the session ended before the response, or had already ended. `reason` states why. If `isSent` is `false`,
 *   the transport had not received the request, so that it can be repeated without having its effect twice.
 * - `InvalidResult`: the result does not match the schema of the method, or the output schema of the tool (TOOL-08).
 *   `problem` names the first mismatch.
 * - `MalformedResponse`: the message with the id of the request is no JSON-RPC response. The peer may have carried the
 *   request out.
 * - `UnusableSchema`: the validator cannot compile the output schema of the tool. Nothing was sent.
 * - `InvalidParams`: the params break a rule that no schema can express. Nothing was sent.
 * - `MissingCapability`: the peer has not declared the capability that the message needs. Nothing was sent (INIT-15).
 * - `UndeclaredCapability`: this side has not declared the capability that its notification needs. `option` declares
 *   it. Nothing was sent.
 * - `UnknownProgressToken`: no request of the peer in flight has this progress token. Nothing was sent (PRG-05).
 * - `NotInRevision`: the negotiated revision does not have the method. Nothing was sent (INIT-13).
 * - `QuestionFailed`: the server answered the request with a question (2026-07-28), and the handler of this client
 *   failed with this error. The server was not sent an answer.
 * - `InputRequired`: the server answered the request with questions (2026-07-28), and the option `questions` leaves
 *   them to the program. `required` has them.
 * - `NotSubscribable`: the server notifies of no changes of the resource with this `uri`. It left the resource out of
 *   the filter that it acknowledged (2026-07-28, SUB-04).
 * - `WrongState`: the session is in a state in which this message cannot be sent. Nothing was sent.
 * - `StatelessModeNotSupported`: a server without sessions cannot send requests, not even `ping`. Nothing was sent.
 * - `CannotAskHere`: revision 2026-07-28 has questions to the client in `tools/call`, `prompts/get` and
 *   `resources/read` only, and the handler serves another method (MRTR-02). Nothing was sent.
 * - `SendFailed`: the transport could not send the message. The peer has not carried it out.
 * - `OutcomeUnknown`: the stream that carries the response was lost, or the peer replied that the process that served
 *   the request is gone (−31013). The peer may have carried the request out, so a retry can have its effect twice.
 * - `ExchangeEnded`: the request of the peer that this message belongs to has been answered or cancelled. Nothing was
 *   sent.
 *
 * @category models
 */
export type RequestErrorReason =
  | { readonly _tag: "ErrorResponse"; readonly error: McpError.McpError }
  | { readonly _tag: "Timeout"; readonly afterMillis: number }
  | { readonly _tag: "Closed"; readonly reason: CloseReason.CloseReason; readonly isSent: boolean }
  | { readonly _tag: "InvalidResult"; readonly problem: string }
  | { readonly _tag: "MalformedResponse"; readonly problem: string }
  | { readonly _tag: "UnusableSchema"; readonly tool: string; readonly error: UnsupportedSchemaError }
  | { readonly _tag: "InvalidParams"; readonly problem: string }
  | { readonly _tag: "MissingCapability"; readonly capability: string }
  | { readonly _tag: "UndeclaredCapability"; readonly capability: string; readonly option: string }
  | { readonly _tag: "UnknownProgressToken"; readonly token: Meta.ProgressToken }
  | {
    readonly _tag: "NotInRevision"
    readonly revision: string
    /** The first revision that has the method. */
    readonly since: string
    /** The last revision that has the method, if the negotiated one is newer. */
    readonly until?: string
  }
  | { readonly _tag: "QuestionFailed"; readonly method: string; readonly error: McpError.McpError }
  | { readonly _tag: "InputRequired"; readonly required: InputRequired.InputRequiredResult }
  | { readonly _tag: "NotSubscribable"; readonly uri: string }
  | { readonly _tag: "WrongState"; readonly state: string }
  | { readonly _tag: "StatelessModeNotSupported" }
  | { readonly _tag: "CannotAskHere"; readonly served: string }
  | { readonly _tag: "SendFailed"; readonly error: TransportError }
  | { readonly _tag: "OutcomeUnknown"; readonly error: TransportError }
  | { readonly _tag: "ExchangeEnded" }

const quoted = (token: Meta.ProgressToken): string =>
  typeof token === "string" ? JSON.stringify(Excerpt.of(token)) : String(token)

/** The greatest length of a text of the peer in a message. A server of groups lists problems in 4,096 bytes. */
const maxText = 8_192

const excerpt = (text: string): string => Excerpt.of(text, maxText)

const describe = (reason: RequestErrorReason): string => {
  switch (reason._tag) {
    case "ErrorResponse":
      return `the peer replied with error ${reason.error.code}: ${excerpt(reason.error.message)}`
    case "Timeout":
      return `timed out after ${reason.afterMillis} ms; set timeout or totalTimeout to allow more`
    case "Closed":
      return `the session has ended${reason.isSent ? ", and the peer may have carried out the request" : ""}: ` +
        CloseReason.describe(reason.reason)
    case "InvalidResult":
      return `the result is invalid: ${excerpt(reason.problem)}`
    case "MalformedResponse":
      return `the response is malformed: ${excerpt(reason.problem)}`
    case "UnusableSchema":
      return `the tool ${JSON.stringify(Excerpt.of(reason.tool))} was not called because of its output schema: ` +
        reason.error.message
    case "InvalidParams":
      return reason.problem
    case "MissingCapability":
      return `the peer has not declared the capability "${reason.capability}", which this message needs`
    case "UndeclaredCapability":
      return `this side has not declared the capability "${reason.capability}"; ` +
        `set the option ${reason.option} to declare it`
    case "UnknownProgressToken":
      return `no request in flight has the progress token ${quoted(reason.token)}; ` +
        "it has been answered or cancelled, or its sender requested no progress"
    case "NotInRevision":
      return `the negotiated revision ${reason.revision} does not have this; ` +
        (reason.until === undefined
          ? `revision ${reason.since} or later is needed`
          : `revision ${reason.until} is the last one that does`)
    case "QuestionFailed":
      return `the server asked for ${reason.method}, and the handler of this client failed with error ` +
        `${reason.error.code}: ${reason.error.message}`
    case "InputRequired":
      return "the server has questions, and the option questions leaves them to the program; " +
        "send the request again with inputResponses and requestState among its params"
    case "NotSubscribable":
      return `the server does not notify of changes of ${JSON.stringify(Excerpt.of(reason.uri))}; ` +
        "check that the resource exists, and that the server serves subscriptions to it"
    case "WrongState":
      return `cannot be sent while the session is ${reason.state}`
    case "StatelessModeNotSupported":
      return "a server without sessions cannot send requests; serve the client in a session instead"
    case "CannotAskHere":
      return `a handler of ${reason.served} cannot ask the client in revision 2026-07-28; ` +
        "ask in tools/call, prompts/get or resources/read"
    case "SendFailed":
      return reason.error.message
    case "OutcomeUnknown":
      return `the response was lost, and the peer may have carried out the request: ${reason.error.message}`
    case "ExchangeEnded":
      return "the request that this message belongs to has been answered or cancelled"
  }
}

/**
 * The failure of a request or a notification. `reason` has its kind; recover from one kind with `Effect.catchReason`.
 *
 * @example
 * ```ts
 * import type { ClientSession } from "@effect-mcp/session"
 * import * as Effect from "effect/Effect"
 *
 * export const count = (session: ClientSession.ClientSession["Service"]) =>
 *   session.callTool("count", { to: 3 }, { timeout: "1 second" }).pipe(
 *     Effect.catchReason("RequestError", "Timeout", ({ afterMillis }) => Effect.succeed(`too slow: ${afterMillis} ms`))
 *   )
 * ```
 *
 * @category errors
 */
export class RequestError extends Data.TaggedError("RequestError")<{
  readonly method: string
  readonly reason: RequestErrorReason
}> {
  override get message(): string {
    return `${this.method}: ${describe(this.reason)}`
  }
}

/**
 * Describes the kind of an error for a party that is not the peer of the request, such as the client of a server whose
 * handler calls another server. The description contains no text of the peer, no cause, no close reason and no params:
 * those may contain secrets, the standard error of a process, and internal addresses. Log `message` instead.
 *
 * @example
 * ```ts
 * import { CloseReason } from "@effect-mcp/protocol"
 * import { RequestError } from "@effect-mcp/session"
 *
 * const error = RequestError.make("tools/call", { _tag: "Closed", reason: CloseReason.requested, isSent: true })
 *
 * export const words = RequestError.withoutCause(error)
 * // => "tools/call: the session has ended, and the peer may have carried out the request"
 * ```
 *
 * @category formatting
 */
export const withoutCause = ({ message, method, reason }: RequestError): string => {
  switch (reason._tag) {
    case "ErrorResponse":
      return `${method}: the peer replied with error ${reason.error.code}`
    case "Closed":
      return `${method}: the session has ended${reason.isSent ? ", and the peer may have carried out the request" : ""}`
    case "InvalidResult":
      return `${method}: the result is invalid`
    case "MalformedResponse":
      return `${method}: the response is malformed`
    case "UnusableSchema":
      return `${method}: the tool was not called because of its output schema`
    case "InvalidParams":
      return `${method}: the params are invalid`
    case "QuestionFailed":
      return `${method}: the server asked for ${reason.method}, and the handler of its client failed with error ` +
        `${reason.error.code}`
    case "NotSubscribable":
      return `${method}: the server does not notify of changes of the resource`
    case "SendFailed":
      return reason.error.reason._tag === "AuthorizationRequired"
        ? `${method}: a person has to authorize the client at the server first`
        : `${method}: the request could not be sent`
    case "OutcomeUnknown":
      return `${method}: the response was lost, and the peer may have carried out the request`
    case "Timeout":
    case "MissingCapability":
    case "UndeclaredCapability":
    case "UnknownProgressToken":
    case "NotInRevision":
    case "InputRequired":
    case "WrongState":
    case "StatelessModeNotSupported":
    case "CannotAskHere":
    case "ExchangeEnded":
      // This message contains no text of the peer.
      return message
  }
}

/**
 * Creates a {@link RequestError} of this kind.
 *
 * @example
 * ```ts
 * import { RequestError } from "@effect-mcp/session"
 *
 * export const message = RequestError.make("tools/call", { _tag: "Timeout", afterMillis: 5_000 }).message
 * // => "tools/call: timed out after 5000 ms; set timeout or totalTimeout to allow more"
 * ```
 *
 * @category constructors
 */
export const make = (method: string, reason: RequestErrorReason): RequestError => new RequestError({ method, reason })

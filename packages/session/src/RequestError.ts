/**
 * Why a request did not bring a result.
 */
import { CloseReason, Excerpt, type McpError, type Meta } from "@effect-mcp/protocol"
import * as Data from "effect/Data"
import type { TransportError } from "./TransportError.ts"
import type { UnsupportedSchema } from "./UnsupportedSchema.ts"

/**
 * The kinds of {@link RequestError}. Only `ErrorResponse` was said by the peer; the others arose on this side and cannot be
 * mistaken for it (MSG-27).
 *
 * - `ErrorResponse`: the peer answered with an error.
 * - `Timeout`: no response came within `afterMillis`; the peer was told to cancel.
 * - `Closed`: the session ended first, or had ended already.
 * - `InvalidResult`: the result does not fit the method's schema, or the tool's output schema (TOOL-08); `problem` names the
 *   first mismatch.
 * - `MalformedResponse`: what came under the request's id is no JSON-RPC response; `problem` says why. The peer may
 *   have carried it out.
 * - `UnusableSchema`: the output schema of the tool to be called is none that results could be checked against; nothing was
 *   sent.
 * - `InvalidParams`: the params break a rule that no schema can say; nothing was sent.
 * - `MissingCapability`: the peer has not declared what this request needs; nothing was sent (INIT-15).
 * - `UndeclaredCapability`: this side has not declared what this notification needs; `option` declares it. Nothing was
 *   sent.
 * - `UnknownProgressToken`: no request that is being served has this progress token; nothing was sent (PRG-05).
 * - `NotInRevision`: the negotiated revision does not have this method; nothing was sent (INIT-13).
 * - `NotAllowed`: this request may not be sent in this state of the session; nothing was sent.
 * - `StatelessModeNotSupported`: a server without sessions cannot ask its client anything, ping included; nothing was sent.
 * - `SendFailed`: the transport could not carry it; the peer has not carried it out.
 * - `OutcomeUnknown`: what was to bring the response was lost. The peer may have carried it out, so it is not safe to try again what
 *   must not be done twice.
 * - `ExchangeEnded`: it was to be sent on behalf of a request that has been answered or cancelled.
 *
 * @category models
 */
export type RequestErrorReason =
  | { readonly _tag: "ErrorResponse"; readonly error: McpError.McpError }
  | { readonly _tag: "Timeout"; readonly afterMillis: number }
  | { readonly _tag: "Closed"; readonly reason: CloseReason.CloseReason }
  | { readonly _tag: "InvalidResult"; readonly problem: string }
  | { readonly _tag: "MalformedResponse"; readonly problem: string }
  | { readonly _tag: "UnusableSchema"; readonly tool: string; readonly error: UnsupportedSchema }
  | { readonly _tag: "InvalidParams"; readonly problem: string }
  | { readonly _tag: "MissingCapability"; readonly capability: string }
  | { readonly _tag: "UndeclaredCapability"; readonly capability: string; readonly option: string }
  | { readonly _tag: "UnknownProgressToken"; readonly token: Meta.ProgressToken }
  | { readonly _tag: "NotInRevision"; readonly revision: string; readonly since: string }
  | { readonly _tag: "NotAllowed"; readonly state: string }
  | { readonly _tag: "StatelessModeNotSupported" }
  | { readonly _tag: "SendFailed"; readonly error: TransportError }
  | { readonly _tag: "OutcomeUnknown"; readonly error: TransportError }
  | { readonly _tag: "ExchangeEnded" }

const shown = (token: Meta.ProgressToken): string =>
  typeof token === "string" ? JSON.stringify(Excerpt.of(token)) : String(token)

const describe = (reason: RequestErrorReason): string => {
  switch (reason._tag) {
    case "ErrorResponse":
      return `the peer answered with error ${reason.error.code}: ${reason.error.message}`
    case "Timeout":
      return `no response within ${reason.afterMillis} ms`
    case "Closed":
      return `the session ended: ${CloseReason.describe(reason.reason)}`
    case "InvalidResult":
      return `the result does not fit: ${reason.problem}`
    case "MalformedResponse":
      return `the peer answered with what is no response: ${reason.problem}`
    case "UnusableSchema":
      return `the output schema of the tool ${JSON.stringify(reason.tool)} cannot be used: ${reason.error.message}`
    case "InvalidParams":
      return reason.problem
    case "MissingCapability":
      return `the peer has not declared the capability "${reason.capability}"`
    case "UndeclaredCapability":
      return `this side has not declared the capability "${reason.capability}"; set the option ${reason.option} to declare it`
    case "UnknownProgressToken":
      return `no request that is being served has the progress token ${shown(reason.token)}; ` +
        "it has been answered or cancelled, or its sender did not ask for progress"
    case "NotInRevision":
      return `revision ${reason.revision} does not have it; it exists since ${reason.since}`
    case "NotAllowed":
      return `it may not be sent while the session is ${reason.state}`
    case "StatelessModeNotSupported":
      return "a server without sessions cannot ask its client anything; serve the client in a session instead"
    case "SendFailed":
      return reason.error.message
    case "OutcomeUnknown":
      return `it is not known whether it was carried out: ${reason.error.message}`
    case "ExchangeEnded":
      return "the request it was sent for has already ended"
  }
}

/**
 * A request brought no result. `reason` says why; recover from one kind with `Effect.catchReason`.
 *
 * @example
 * ```ts
 * import type { ClientSession } from "@effect-mcp/session"
 * import * as Effect from "effect/Effect"
 *
 * export const patient = (session: ClientSession.ClientSession["Service"]) =>
 *   session.callTool("count", { to: 3 }, { timeout: "1 second" }).pipe(
 *     Effect.catchReason("RequestError", "Timeout", (reason) => Effect.succeed(`gave up after ${reason.afterMillis} ms`))
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
 * A {@link RequestError} of this kind.
 *
 * @example
 * ```ts
 * import { RequestError } from "@effect-mcp/session"
 *
 * export const message = RequestError.make("tools/call", { _tag: "Timeout", afterMillis: 5_000 }).message
 * // => "tools/call: no response within 5000 ms"
 * ```
 *
 * @category constructors
 */
export const make = (method: string, reason: RequestErrorReason): RequestError => new RequestError({ method, reason })

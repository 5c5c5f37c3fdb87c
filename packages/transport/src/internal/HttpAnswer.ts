import { ErrorCode, JsonRpc, type RequestId } from "@effect-mcp/protocol"
import type { HostFull } from "@effect-mcp/session/SessionHost"
import type { TransportError } from "@effect-mcp/session/TransportError"
import * as HttpServerResponse from "effect/http/HttpServerResponse"
import type { StreamReader } from "./StreamReader.ts"

/** The headers of one response beside those that every response has. */
export type Headers = Readonly<Record<string, string>>

export const json = (status: number, body: string, headers: Headers): HttpServerResponse.HttpServerResponse =>
  HttpServerResponse.text(body, { status, headers, contentType: "application/json" })

/** A refusal: its status, and in words that both a program and a person can read why. */
export const refusal = (
  status: number,
  problem: string,
  options: { readonly id?: RequestId.RequestId | undefined; readonly code?: number; readonly headers?: Headers } = {}
): HttpServerResponse.HttpServerResponse => {
  const error = { code: options.code ?? ErrorCode.InvalidRequest, message: problem }
  return json(status, JSON.stringify(JsonRpc.failure(options.id, error)), options.headers ?? {})
}

/** A refusal in words for a person alone: a client that looks for another transport would take JSON for the word of a newer server. */
export const plain = (
  status: number,
  problem: string,
  headers: Headers = {}
): HttpServerResponse.HttpServerResponse => HttpServerResponse.text(problem, { status, headers })

/** How long a client is to wait, in whole seconds; it is told nothing where that is not known. */
const retryAfter = (millis: number | undefined): Headers =>
  millis === undefined ? {} : { "retry-after": String(Math.max(Math.ceil(millis / 1000), 1)) }

/** The server cannot do this now. `retryAfterMillis` is when it will be able to, if that is known. */
export const unavailable = (
  problem: string,
  options: { readonly id?: RequestId.RequestId | undefined; readonly retryAfterMillis?: number | undefined } = {}
): HttpServerResponse.HttpServerResponse =>
  refusal(503, problem, { id: options.id, code: ErrorCode.Overloaded, headers: retryAfter(options.retryAfterMillis) })

/** The server shuts down, and another may be there after this time. */
export const leaving = (
  retryAfterMillis: number | undefined,
  id?: RequestId.RequestId
): HttpServerResponse.HttpServerResponse => unavailable("The server is shutting down", { id, retryAfterMillis })

/** A host has no room for the session. That a principal has too many is its own doing (429). */
export const full = (
  { message, retryAfterMillis, scope }: HostFull,
  id: RequestId.RequestId | undefined
): HttpServerResponse.HttpServerResponse =>
  refusal(scope === "principal" ? 429 : 503, message, {
    id,
    code: ErrorCode.Overloaded,
    headers: retryAfter(retryAfterMillis)
  })

/** The session that was asked for could not be opened. */
export const notOpened = (
  error: HostFull | TransportError,
  id: RequestId.RequestId | undefined
): HttpServerResponse.HttpServerResponse =>
  error._tag === "HostFull" ? full(error, id) : refusal(500, error.message, { id, code: ErrorCode.InternalError })

/** What is kept as long as a session is may not be as long as any other message. */
export const longInitialize = (
  id: RequestId.RequestId,
  limitBytes: number
): HttpServerResponse.HttpServerResponse => refusal(413, `initialize may have ${limitBytes} bytes`, { id })

/** Nothing to be said. */
export const empty = (status: number, headers: Headers = {}): HttpServerResponse.HttpServerResponse =>
  HttpServerResponse.empty({ status, headers: status === 204 ? headers : { ...headers, "content-length": "0" } })

/** What keeps everybody on the way from holding a stream back, or on to it. */
const streamHeaders: Headers = {
  "cache-control": "no-cache, no-transform",
  "x-accel-buffering": "no"
}

/** A stream of events, as long as it is read. */
export const events = (reader: StreamReader, headers: Headers): HttpServerResponse.HttpServerResponse => {
  const options = { headers: { ...streamHeaders, ...headers }, contentType: "text/event-stream" }
  const whole = reader.takeWhole()
  return whole === undefined
    ? HttpServerResponse.stream(reader.body, options)
    : HttpServerResponse.text(whole, options)
}

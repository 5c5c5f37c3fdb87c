import { ErrorCode, JsonRpc, type RequestId } from "@effect-mcp/protocol"
import type { HostFull } from "@effect-mcp/session/SessionHost"
import type { TransportError } from "@effect-mcp/session/TransportError"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as HttpServerResponse from "effect/http/HttpServerResponse"
import * as Stream from "effect/Stream"
import type { SseResponseBody } from "./SseResponseBody.ts"

/** The headers of one response beside those that every response has. */
export type Headers = Readonly<Record<string, string>>

/**
 * The number of bytes of a body that the connection is given at a time. One that is given all at once shows no progress until all
 * was taken, and a slow client could not be told from one that takes nothing.
 */
const pieceBytes = 65_536

const encoder = new TextEncoder()

const inPieces = (body: Uint8Array): Stream.Stream<Uint8Array> =>
  Stream.fromPull(Effect.sync(() => {
    let at = 0
    return Effect.suspend((): Effect.Effect<readonly [Uint8Array], Cause.Done> => {
      if (at >= body.length) return Cause.done()
      const piece = body.subarray(at, at + pieceBytes)
      at += pieceBytes
      return Effect.succeed([piece])
    })
  }))

const whole = (
  body: string,
  options: { readonly status?: number; readonly headers: Headers; readonly contentType: string }
): HttpServerResponse.HttpServerResponse => {
  if (body.length <= pieceBytes) return HttpServerResponse.text(body, options)
  const bytes = encoder.encode(body)
  return HttpServerResponse.stream(inPieces(bytes), { ...options, contentLength: bytes.length })
}

export const json = (status: number, body: string, headers: Headers): HttpServerResponse.HttpServerResponse =>
  whole(body, { status, headers, contentType: "application/json" })

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

/** The time to wait in whole seconds; no header if it is not known. */
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
export const events = (reader: SseResponseBody, headers: Headers): HttpServerResponse.HttpServerResponse => {
  const options = { headers: { ...streamHeaders, ...headers }, contentType: "text/event-stream" }
  const text = reader.takeWhole()
  return text === undefined ? HttpServerResponse.stream(reader.body, options) : whole(text, options)
}

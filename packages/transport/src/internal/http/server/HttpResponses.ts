/** The HTTP responses of a server: JSON, event streams, and errors whose bodies are JSON-RPC errors. */
import { ErrorCode, JsonRpc, type RequestId } from "@effect-mcp/protocol"
import type { HostFullError, OwnerUnknownError } from "@effect-mcp/session/SessionHost"
import type { SessionStoreError } from "@effect-mcp/session/SessionStore"
import type { TransportError } from "@effect-mcp/session/TransportError"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as HttpServerResponse from "effect/http/HttpServerResponse"
import * as Stream from "effect/Stream"
import type { SseResponseBody } from "./SseResponseBody.ts"

/** The headers of one response, without those that every response has. */
export type Headers = Readonly<Record<string, string>>

/**
 * The bytes of a body that are written to the connection at a time. A body that is written at once shows no progress
 * until all of it is read, and a slow client would look like a stalled one.
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

/** Returns a response whose body is this JSON text. */
export const json = (status: number, body: string, headers: Headers): HttpServerResponse.HttpServerResponse =>
  whole(body, { status, headers, contentType: "application/json" })

/** Returns an error: its status, and a JSON-RPC error for this request with the message. */
export const error = (
  status: number,
  message: string,
  options: { readonly id?: RequestId.RequestId | undefined; readonly code?: number; readonly headers?: Headers } = {}
): HttpServerResponse.HttpServerResponse => {
  const failure = JsonRpc.failure(options.id, { code: options.code ?? ErrorCode.InvalidRequest, message })
  return json(status, JSON.stringify(failure), options.headers ?? {})
}

/**
 * Returns an error in plain text. A client that probes for HTTP+SSE would take JSON for the response of a newer server.
 */
export const text = (
  status: number,
  message: string,
  headers: Headers = {}
): HttpServerResponse.HttpServerResponse => HttpServerResponse.text(message, { status, headers })

/** The time after which a client retries if it is not known when it can succeed. Without it, some retry at once. */
const unknownWaitMillis = 5000

/** Returns the header `Retry-After`, in whole seconds. */
export const retryAfter = (millis: number = unknownWaitMillis): Headers => ({
  "retry-after": String(Math.max(Math.ceil(millis / 1000), 1))
})

/** Returns 503, with the time after which the client can retry. */
export const unavailable = (
  message: string,
  options: { readonly id?: RequestId.RequestId | undefined; readonly retryAfterMillis?: number | undefined } = {}
): HttpServerResponse.HttpServerResponse =>
  error(503, message, { id: options.id, code: ErrorCode.Overloaded, headers: retryAfter(options.retryAfterMillis) })

/** Returns 503 while the server shuts down. */
export const shuttingDown = (
  retryAfterMillis: number | undefined,
  id?: RequestId.RequestId
): HttpServerResponse.HttpServerResponse => unavailable("The server is shutting down", { id, retryAfterMillis })

/** Returns 421 for a forwarded request whose session another process has; it is not forwarded again. */
export const misdirected: HttpServerResponse.HttpServerResponse = error(
  421,
  "This process does not have the session, and does not forward a request that was forwarded"
)

/** Returns 429 if this principal has too many sessions, and 503 if the host has no room. */
export const hostFull = (
  { message, retryAfterMillis, scope }: HostFullError,
  id: RequestId.RequestId | undefined
): HttpServerResponse.HttpServerResponse =>
  error(scope === "principal" ? 429 : 503, message, {
    id,
    code: ErrorCode.Overloaded,
    headers: retryAfter(retryAfterMillis)
  })

/** The time after which a client retries whose session has no owner: it may take the time of a lease. */
const ownerWaitMillis = 1000

/** Returns 503 if the owner of a session is not known: the session may go on. */
export const ownerUnknown = (
  { message }: OwnerUnknownError,
  id: RequestId.RequestId | undefined
): HttpServerResponse.HttpServerResponse => unavailable(message, { id, retryAfterMillis: ownerWaitMillis })

/** Returns 503 if the session store does not answer. The host has logged the cause. */
export const storeFailed = (id: RequestId.RequestId | undefined): HttpServerResponse.HttpServerResponse =>
  unavailable("The session store is not available", { id })

/** Returns the response for a session that could not be opened. */
export const openFailed = (
  failure: HostFullError | OwnerUnknownError | SessionStoreError | TransportError,
  id: RequestId.RequestId | undefined
): HttpServerResponse.HttpServerResponse => {
  switch (failure._tag) {
    case "HostFullError":
      return hostFull(failure, id)
    case "OwnerUnknownError":
      return ownerUnknown(failure, id)
    case "SessionStoreError":
      return storeFailed(id)
    case "TransportError":
      return error(500, failure.message, { id, code: ErrorCode.InternalError })
  }
}

/** Returns 413 for an `initialize` request that is larger than the session may keep. */
export const initializeTooLarge = (
  id: RequestId.RequestId,
  maxBytes: number
): HttpServerResponse.HttpServerResponse =>
  error(413, `initialize is larger than ${maxBytes} bytes (maxInitializeBytes)`, { id })

/**
 * Returns 405 of a URL without sessions, for GET and DELETE. A client of HTTP+SSE begins with GET, and its user reads
 * the message.
 */
export const withoutSessions = (message: string, headers: Headers): HttpServerResponse.HttpServerResponse =>
  error(405, `${message}: there are no sessions; connect with a client of Streamable HTTP`, { headers })

/** Returns a response without a body. */
export const empty = (status: number, headers: Headers = {}): HttpServerResponse.HttpServerResponse =>
  HttpServerResponse.empty({ status, headers: status === 204 ? headers : { ...headers, "content-length": "0" } })

/** The headers that keep proxies from buffering or storing a stream. */
const streamHeaders: Headers = {
  "cache-control": "no-cache, no-transform",
  "x-accel-buffering": "no"
}

/** Returns an event stream; one that has ended already is sent as a whole. */
export const eventStream = (body: SseResponseBody, headers: Headers): HttpServerResponse.HttpServerResponse => {
  const options = { headers: { ...streamHeaders, ...headers }, contentType: "text/event-stream" }
  const ended = body.takeAll()
  return ended === undefined ? HttpServerResponse.stream(body.stream, options) : whole(ended, options)
}

/** One HTTP request, over any HTTP client of Effect. */
import * as TransportError from "@effect-mcp/session/TransportError"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as FetchHttpClient from "effect/http/FetchHttpClient"
import * as Headers from "effect/http/Headers"
import * as HttpClient from "effect/http/HttpClient"
import type * as HttpClientError from "effect/http/HttpClientError"
import * as HttpClientRequest from "effect/http/HttpClientRequest"
import * as HttpClientResponse from "effect/http/HttpClientResponse"
import * as UrlParams from "effect/http/UrlParams"
import * as Option from "effect/Option"
import * as Predicate from "effect/Predicate"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import * as ContentEncoding from "../../shared/ContentEncoding.ts"
import * as ServerAddress from "../../shared/ServerAddress.ts"

/** The HTTP client that sends the requests. */
export type Client = HttpClient.HttpClient

/** One HTTP request. */
export interface Call {
  readonly method: "DELETE" | "GET" | "POST"
  readonly url: URL
  /** The headers, with names in lower case. */
  readonly headers: Readonly<Record<string, string>>
  /** The JSON to send, if there is any. */
  readonly body: string | undefined
}

/** The response. Its body is read while the scope of the call is open. */
export interface HttpResponse {
  /** The URL that was requested. */
  readonly url: URL
  readonly status: number
  readonly header: (name: string) => string | undefined
  /** The body, decompressed. Fails with the reason why it broke. */
  readonly chunks: Stream.Stream<Uint8Array, unknown>
  /** Whether the body was compressed: then few bytes on the network may be many here. */
  readonly isCompressed: boolean
}

/** Returns whether the status is a success. */
export const isAccepted = ({ status }: HttpResponse): boolean => status >= 200 && status < 300

/** Returns the media type of the body, without its parameters. */
export const mediaType = (response: HttpResponse): string | undefined =>
  response.header("content-type")?.split(";")[0]?.trim().toLowerCase()

/**
 * Sends one HTTP request. Closing the scope aborts it in any state. It fails with `ConnectFailed` if nothing was sent,
 * and with `ExchangeEnded` if something may have been.
 */
export type MakeCall = (call: Call) => Effect.Effect<HttpResponse, TransportError.TransportError, Scope.Scope>

/** The codes of errors before a connection is made: of name resolution, of connecting, and of TLS. */
const connectErrorCodes: ReadonlySet<unknown> = new Set([
  "EAI_AGAIN",
  "ECONNREFUSED",
  "EHOSTDOWN",
  "EHOSTUNREACH",
  "ENETDOWN",
  "ENETUNREACH",
  "ENOTFOUND",
  "UND_ERR_CONNECT_TIMEOUT",
  "UND_ERR_INVALID_ARG",
  "CERT_HAS_EXPIRED",
  "CERT_NOT_YET_VALID",
  "DEPTH_ZERO_SELF_SIGNED_CERT",
  "ERR_TLS_CERT_ALTNAME_INVALID",
  "SELF_SIGNED_CERT_IN_CHAIN",
  "UNABLE_TO_GET_ISSUER_CERT",
  "UNABLE_TO_GET_ISSUER_CERT_LOCALLY",
  "UNABLE_TO_VERIFY_LEAF_SIGNATURE"
])

/** The system calls before a connection is made. */
const connectSyscalls: ReadonlySet<unknown> = new Set(["connect", "getaddrinfo"])

/** Returns whether a request failed before anything of it was sent. An unknown error counts as failed later. */
const isConnectError = (cause: unknown): boolean =>
  (Predicate.hasProperty(cause, "code") && connectErrorCodes.has(cause.code)) ||
  (Predicate.hasProperty(cause, "syscall") && connectSyscalls.has(cause.syscall)) ||
  (Predicate.hasProperty(cause, "cause") && isConnectError(cause.cause))

/** Returns the cause of an error, without the request and its headers, which may be secret (SHS-23). */
const causeOf = ({ reason }: HttpClientError.HttpClientError): unknown =>
  reason.cause ?? new Error(reason.description ?? reason._tag)

const explain = (call: Call) => (error: HttpClientError.HttpClientError): TransportError.TransportError => {
  const cause = causeOf(error)
  const { _tag } = error.reason
  return _tag === "InvalidUrlError" || _tag === "EncodeError" || isConnectError(cause)
    ? TransportError.make({ _tag: "ConnectFailed", target: ServerAddress.shown(call.url), cause })
    : TransportError.make({ _tag: "ExchangeEnded", cause })
}

const requestOf = ({ body, headers, method, url }: Call): HttpClientRequest.HttpClientRequest => {
  const request = HttpClientRequest.make(method)(url, { headers })
  return body === undefined ? request : HttpClientRequest.bodyText(request, body, "application/json")
}

/**
 * Returns the decompressed body. `fetch` decompresses it by itself and keeps the header; other clients do not
 * decompress.
 */
const decoded = (response: HttpClientResponse.HttpClientResponse, contentEncoding: string): HttpResponse["chunks"] => {
  const chunks = Stream.mapError(response.stream, causeOf)
  return Option.isSome(HttpClientResponse.toWeb(response))
    ? ContentEncoding.decodedBefore(chunks, contentEncoding)
    : ContentEncoding.decode(chunks, contentEncoding)
}

/** Any parameter of a query: a server may send a session id in one, under any name, and a program its key. */
const anyName = /(?:)/

/** Creates the function that sends requests, over the HTTP client in the context. */
export const make: Effect.Effect<MakeCall, never, Client> = Effect.gen(function*() {
  const client = HttpClient.withScope(yield* HttpClient.HttpClient)
  // By default `fetch` follows redirects to any origin, with the session id and the program's headers.
  const fetchOptions = Option.getOrElse(yield* Effect.serviceOption(FetchHttpClient.RequestInit), () => ({}))
  const redacted = yield* Headers.CurrentRedactedNames
  // Provided in one step, because each step costs every request.
  const settings = Context.make(FetchHttpClient.RequestInit, { ...fetchOptions, redirect: "manual" }).pipe(
    Context.add(Headers.CurrentRedactedNames, [...redacted, "mcp-session-id"]),
    Context.add(UrlParams.CurrentRedactedNames, [anyName])
  )
  // Requests are sent by fibers of the session. A target whose URL has a secret sets this where its Layer is built.
  const isUntraced = Context.getOrUndefined(yield* Effect.context<never>(), HttpClient.TracerDisabledWhen)
  const execute = isUntraced === undefined
    ? client.execute
    : (request: HttpClientRequest.HttpClientRequest) =>
      Effect.updateService(
        client.execute(request),
        HttpClient.TracerDisabledWhen,
        (isOff) => (request) => isOff(request) || isUntraced(request)
      )
  return (call) =>
    execute(requestOf(call)).pipe(
      Effect.provideContext(settings),
      Effect.mapError(explain(call)),
      Effect.map((response): HttpResponse => {
        const { headers, status } = response
        const encoding = headers["content-encoding"]
        const isCompressed = ContentEncoding.isCompressed(encoding)
        return {
          url: call.url,
          status,
          header: (name) => headers[name],
          chunks: encoding !== undefined && isCompressed
            ? decoded(response, encoding)
            : Stream.mapError(response.stream, causeOf),
          isCompressed
        }
      })
    )
})

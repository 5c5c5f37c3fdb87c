import * as TransportError from "@effect-mcp/session/TransportError"
import * as Effect from "effect/Effect"
import * as FetchHttpClient from "effect/http/FetchHttpClient"
import * as Headers from "effect/http/Headers"
import * as HttpClient from "effect/http/HttpClient"
import type * as HttpClientError from "effect/http/HttpClientError"
import * as HttpClientRequest from "effect/http/HttpClientRequest"
import * as HttpClientResponse from "effect/http/HttpClientResponse"
import * as UrlParams from "effect/http/UrlParams"
import * as Option from "effect/Option"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import * as ContentEncoding from "../../shared/ContentEncoding.ts"
import { isConnectError } from "./isConnectError.ts"
import * as ServerAddress from "./serverAddress.ts"

/** What makes the calls in the end. */
export type Client = HttpClient.HttpClient

/** One HTTP request. */
export interface Call {
  readonly method: "DELETE" | "GET" | "POST"
  readonly url: URL
  /** The names in lower case. */
  readonly headers: Readonly<Record<string, string>>
  /** JSON, if there is anything to send. */
  readonly body: string | undefined
}

/** What came back, as far as its body, which is read while the scope of the call is open. */
export interface Answer {
  readonly status: number
  readonly header: (name: string) => string | undefined
  /** The body, decoded if it came compressed. Fails with what broke it off. */
  readonly chunks: Stream.Stream<Uint8Array, unknown>
  /** The body came compressed, so that few bytes on the network may be many here. */
  readonly isCompressed: boolean
}

export const isAccepted = ({ status }: Answer): boolean => status >= 200 && status < 300

/** The media type of the body, without its parameters. */
export const mediaType = (answer: Answer): string | undefined =>
  answer.header("content-type")?.split(";")[0]?.trim().toLowerCase()

/**
 * Makes one HTTP request. Leaving the scope gives it up, in whatever state it is. It fails with `ConnectFailed` when certainly
 * nothing was sent, and with `ExchangeEnded` when something may have been.
 */
export type MakeCall = (call: Call) => Effect.Effect<Answer, TransportError.TransportError, Scope.Scope>

/** Why it failed, without the request and its headers, which are nobody else's business (SHS-23). */
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
 * `fetch` has decoded a body before its `Response` is there, and leaves the header as it was. Other clients decode
 * nothing.
 */
const decoded = (response: HttpClientResponse.HttpClientResponse, contentEncoding: string): Answer["chunks"] => {
  const chunks = Stream.mapError(response.stream, causeOf)
  return Option.isSome(HttpClientResponse.toWeb(response))
    ? ContentEncoding.decodedBefore(chunks, contentEncoding)
    : ContentEncoding.decode(chunks, contentEncoding)
}

/** Whatever is in a query: a server may have put the session there, under a name of its own, and a program its key. */
const anyName = /(?:)/

export const make: Effect.Effect<MakeCall, never, Client> = Effect.gen(function*() {
  const client = HttpClient.withScope(yield* HttpClient.HttpClient)
  // `fetch` follows redirects by itself, and takes the session id and the program's own headers along to wherever they lead.
  const fetchOptions = Option.getOrElse(yield* Effect.serviceOption(FetchHttpClient.RequestInit), () => ({}))
  const redacted = yield* Headers.CurrentRedactedNames
  return (call) =>
    client.execute(requestOf(call)).pipe(
      Effect.provideService(FetchHttpClient.RequestInit, { ...fetchOptions, redirect: "manual" }),
      Effect.provideService(Headers.CurrentRedactedNames, [...redacted, "mcp-session-id"]),
      Effect.provideService(UrlParams.CurrentRedactedNames, [anyName]),
      Effect.mapError(explain(call)),
      Effect.map((response): Answer => {
        const { headers, status } = response
        const encoding = headers["content-encoding"]
        const isCompressed = ContentEncoding.isCompressed(encoding)
        return {
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

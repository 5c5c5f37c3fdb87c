/**
 * The HTTP requests of an authorization: of metadata, registrations and tokens.
 *
 * Each is bounded in time and size, is never redirected, and goes only to an address that the policy allows. Bodies and
 * headers have secrets, so no span shows a request, and no error has one.
 */
import * as Context from "effect/Context"
import * as Data from "effect/Data"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as FetchHttpClient from "effect/http/FetchHttpClient"
import * as HttpClient from "effect/http/HttpClient"
import * as HttpClientRequest from "effect/http/HttpClientRequest"
import type * as HttpClientResponse from "effect/http/HttpClientResponse"
import * as Predicate from "effect/Predicate"
import * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import * as OAuthError from "../../OAuthError.ts"
import * as AddressPolicy from "./AddressPolicy.ts"
import * as ForbiddenAddress from "./ForbiddenAddress.ts"
import { shown } from "./shown.ts"

/** A request. */
export interface OAuthRequest {
  readonly method: "GET" | "POST"
  readonly url: URL
  /** The headers, with names in lower case. */
  readonly headers: Readonly<Record<string, string>>
  readonly body?: string | undefined
}

/** A response with its whole body. */
export interface OAuthResponse {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly text: string
}

/** The error of a response that exceeds the bounds, or redirects the request. */
export class UnusableResponse extends Data.TaggedError("UnusableResponse")<{
  readonly url: string
  readonly problem: string
}> {}

/** The requests of a program. */
export interface OAuthHttp {
  /** Returns the error of a URL to which no request is sent. A name is resolved only when a request is sent. */
  readonly check: (server: URL, url: URL) => OAuthError.OAuthError | undefined
  /** Returns whether the program allows the origin of a URL, also without TLS. */
  readonly isAllowed: (url: URL) => boolean
  /**
   * Sends a request because of a server. Fails with `AddressForbidden` if the policy does not allow the address, and
   * with `Unavailable` if no complete response arrives in time.
   */
  readonly send: (
    server: URL,
    request: OAuthRequest
  ) => Effect.Effect<OAuthResponse, OAuthError.OAuthError | UnusableResponse>
}

/** Options of the requests. */
export interface Options {
  /** The origins at which any address is allowed. */
  readonly allowedOrigins?: ReadonlyArray<string> | undefined
  /** The time for a request and its response. Default 10 seconds. */
  readonly timeout?: Duration.Input | undefined
  /** The largest body to read, in bytes. Default 64 KiB. */
  readonly maxBodyBytes?: number | undefined
}

const defaultTimeout: Duration.Input = "10 seconds"
const defaultMaxBodyBytes = 64 * 1024

const forbidden = (url: URL, address: string): OAuthError.OAuthError =>
  OAuthError.make({ _tag: "AddressForbidden", url: shown(url), address })

const unavailable = (url: URL, problem: string): OAuthError.OAuthError =>
  OAuthError.make({ _tag: "Unavailable", url: shown(url), problem })

/** Returns the code of the error that the platform gives, such as `ECONNREFUSED`: its message may have the request. */
const codeOf = (error: unknown): string | undefined => {
  if (Predicate.hasProperty(error, "code") && typeof error.code === "string") return error.code
  return Predicate.hasProperty(error, "cause") ? codeOf(error.cause) : undefined
}

const explain = (url: URL) => (error: unknown): OAuthError.OAuthError => {
  const address = ForbiddenAddress.find(error)?.address
  if (address !== undefined) return forbidden(url, address)
  return unavailable(url, `the request failed with ${codeOf(error) ?? "an unknown error"}`)
}

/** Browsers show a redirect that is not followed as the status 0. */
const isRedirect = (status: number): boolean => status === 0 || (status >= 300 && status < 400)

/** Returns the place of a redirect, without its query, which may have secrets. */
const locationOf = (location: string | undefined, url: URL): string =>
  location !== undefined && URL.canParse(location, url.href) ? shown(new URL(location, url)) : "no URL"

/** Reads the body up to the limit. */
const textOf = (
  response: HttpClientResponse.HttpClientResponse,
  url: URL,
  maxBodyBytes: number
): Effect.Effect<string, OAuthError.OAuthError | UnusableResponse> =>
  Effect.suspend(() => {
    const decoder = new TextDecoder()
    let text = ""
    let length = 0
    return Stream.runForEachWhile(response.stream, (chunk) =>
      Effect.sync(() => {
        length += chunk.length
        if (length > maxBodyBytes) return false
        text += decoder.decode(chunk, { stream: true })
        return true
      })).pipe(
        Effect.mapError(explain(url)),
        Effect.flatMap(() =>
          length > maxBodyBytes
            ? Effect.fail(
              new UnusableResponse({ url: shown(url), problem: `the response has more than ${maxBodyBytes} bytes` })
            )
            : Effect.succeed(text + decoder.decode())
        )
      )
  })

const requestOf = ({ body, headers, method, url }: OAuthRequest): HttpClientRequest.HttpClientRequest => {
  const request = HttpClientRequest.make(method)(url, { headers })
  return body === undefined
    ? request
    : HttpClientRequest.bodyText(request, body, headers["content-type"] ?? "application/json")
}

/** Requests are in no span: their headers and bodies are secret. Nor do they carry the ids of spans to others. */
const untraced = Context.make(HttpClient.TracerDisabledWhen, () => true).pipe(
  Context.add(HttpClient.TracerPropagationEnabled, false),
  // `fetch` follows redirects by default, to any address.
  Context.add(FetchHttpClient.RequestInit, { redirect: "manual", credentials: "omit", cache: "no-store" })
)

/** The HTTP clients by the verdict about a URL. */
type ClientOf = (verdict: "Guarded" | "Open") => Effect.Effect<HttpClient.HttpClient>

const makeWith = (options: Options, clientOf: ClientOf): OAuthHttp => {
  const policy = AddressPolicy.make(options.allowedOrigins ?? [])
  const maxBodyBytes = options.maxBodyBytes ?? defaultMaxBodyBytes
  const check: OAuthHttp["check"] = (server, url) => {
    const verdict = policy.decide(server, url)
    return verdict._tag === "Refused" ? forbidden(url, verdict.address) : undefined
  }
  const respond = Effect.fnUntraced(function*(request: OAuthRequest, client: HttpClient.HttpClient) {
    const { url } = request
    const response = yield* Effect.mapError(HttpClient.withScope(client).execute(requestOf(request)), explain(url))
    const { headers, status } = response
    if (isRedirect(status)) {
      return yield* new UnusableResponse({
        url: shown(url),
        problem: `the response redirects to ${locationOf(headers["location"], url)}, and redirects are not followed`
      })
    }
    return { status, headers, text: yield* textOf(response, url, maxBodyBytes) }
  }, Effect.scoped)
  return {
    check,
    isAllowed: policy.isAllowed,
    send: (server, request) => {
      const verdict = policy.decide(server, request.url)
      if (verdict._tag === "Refused") return Effect.fail(forbidden(request.url, verdict.address))
      const timeout = {
        duration: options.timeout ?? defaultTimeout,
        orElse: () => Effect.fail(unavailable(request.url, "no complete response arrived in time"))
      }
      // The first request loads the client, which takes a second on a busy machine, and is not a part of its time.
      return Effect.flatMap(
        clientOf(verdict._tag),
        (client) => respond(request, client).pipe(Effect.provideContext(untraced), Effect.timeoutOrElse(timeout))
      )
    }
  }
}

/**
 * Creates the requests over any HTTP client of Effect. Such a client resolves names by itself, so only literal
 * addresses are checked: a name that leads to a private address is not noticed. In a browser, nothing else is possible.
 */
export const make = (client: HttpClient.HttpClient, options: Options = {}): OAuthHttp =>
  makeWith(options, () => Effect.succeed(client))

/** Creates the requests on Node, which also checks the addresses of names. Connections close with the scope. */
export const makeNode = (options: Options = {}): Effect.Effect<OAuthHttp, never, Scope.Scope> =>
  Effect.gen(function*() {
    const scope = yield* Scope.Scope
    const clients = yield* Effect.promise(() => import("./NodeClients.ts")).pipe(
      Effect.flatMap(({ make }) => Scope.provide(make, scope)),
      Effect.uninterruptible,
      Effect.cached
    )
    return makeWith(
      options,
      (verdict) => Effect.map(clients, ({ guarded, open }) => verdict === "Open" ? open : guarded)
    )
  })

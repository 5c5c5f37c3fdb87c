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
import * as Predicate from "effect/Predicate"
import * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import * as OAuthError from "../../OAuthError.ts"
import * as AddressPolicy from "./AddressPolicy.ts"
import type { Exchange, Incoming, OAuthRequest } from "./Exchange.ts"
import * as ForbiddenAddress from "./ForbiddenAddress.ts"
import * as NodeExchange from "./NodeExchange.ts"
import { shown } from "./shown.ts"

export type { OAuthRequest } from "./Exchange.ts"

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
  body: Incoming["body"],
  url: URL,
  maxBodyBytes: number
): Effect.Effect<string, OAuthError.OAuthError | UnusableResponse> =>
  Effect.suspend(() => {
    const decoder = new TextDecoder()
    let text = ""
    let length = 0
    return Stream.runForEachWhile(body, (chunk) =>
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

/** Requests are in no span: their headers and bodies are secret. Nor do they carry the ids of spans to others. */
const untraced = Context.make(HttpClient.TracerDisabledWhen, () => true).pipe(
  Context.add(HttpClient.TracerPropagationEnabled, false),
  // `fetch` follows redirects by default, to any address.
  Context.add(FetchHttpClient.RequestInit, { redirect: "manual", credentials: "omit", cache: "no-store" })
)

/** Returns the requests over an HTTP client of Effect. */
const exchangeOver = (client: HttpClient.HttpClient): Exchange => ({ body, headers, method, url }) => {
  const request = HttpClientRequest.make(method)(url, { headers })
  const whole = body === undefined
    ? request
    : HttpClientRequest.bodyText(request, body, headers["content-type"] ?? "application/json")
  return HttpClient.withScope(client).execute(whole).pipe(
    Effect.map(({ headers, status, stream }) => ({ headers, status, body: stream })),
    Effect.provideContext(untraced)
  )
}

/** The requests by the verdict about a URL. */
type ExchangeOf = (verdict: "Guarded" | "Open") => Exchange

const makeWith = (options: Options, exchangeOf: ExchangeOf): OAuthHttp => {
  const policy = AddressPolicy.make(options.allowedOrigins ?? [])
  const maxBodyBytes = options.maxBodyBytes ?? defaultMaxBodyBytes
  const check: OAuthHttp["check"] = (server, url) => {
    const verdict = policy.decide(server, url)
    return verdict._tag === "Refused" ? forbidden(url, verdict.address) : undefined
  }
  const respond = Effect.fnUntraced(function*(request: OAuthRequest, exchange: Exchange) {
    const { url } = request
    const { body, headers, status } = yield* Effect.mapError(exchange(request), explain(url))
    if (isRedirect(status)) {
      return yield* new UnusableResponse({
        url: shown(url),
        problem: `the response redirects to ${locationOf(headers["location"], url)}, and redirects are not followed`
      })
    }
    return { status, headers, text: yield* textOf(body, url, maxBodyBytes) }
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
      return Effect.timeoutOrElse(respond(request, exchangeOf(verdict._tag)), timeout)
    }
  }
}

/**
 * Creates the requests over any HTTP client of Effect. Such a client resolves names by itself, so only literal
 * addresses are checked: a name that leads to a private address is not noticed. In a browser, nothing else is possible.
 */
export const make = (client: HttpClient.HttpClient, options: Options = {}): OAuthHttp => {
  const exchange = exchangeOver(client)
  return makeWith(options, () => exchange)
}

/**
 * Creates the requests by what the platform has. Node, Bun and Deno also check the addresses of names. A page and a
 * worker have `fetch`, with which only literal addresses are checked. Connections close with the scope.
 */
export const makePlatform = (options: Options = {}): Effect.Effect<OAuthHttp, never, Scope.Scope> =>
  Effect.gen(function*() {
    const scope = yield* Scope.Scope
    // The modules of Node are loaded for the first request.
    const exchanges = yield* Effect.cached(Scope.provide(NodeExchange.make, scope))
    const byFetch = exchangeOver(yield* Effect.provide(HttpClient.HttpClient, FetchHttpClient.layer))
    return makeWith(options, (verdict) => (request) =>
      Effect.flatMap(exchanges, (node) => {
        if (node === undefined) return byFetch(request)
        const exchange = verdict === "Open" ? node.open : node.guarded
        return Effect.catchIf(exchange(request), NodeExchange.resolvesNothing, () => byFetch(request))
      }))
  })

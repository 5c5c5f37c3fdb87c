/**
 * The requests of `oauth4webapi`, sent by the HTTP of this package. The library is loaded on first use.
 *
 * It compares issuers and resources as parsed URLs, and the specification compares them as strings. Discovery has
 * compared them before, so its functions of discovery are not used.
 */
import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import type * as oauth from "oauth4webapi"
import * as OAuthError from "../../OAuthError.ts"
import { type OAuthHttp, type OAuthResponse, UnusableResponse } from "./OAuthHttp.ts"
import { shown } from "./shown.ts"

/** The library. */
export type Library = typeof oauth

/** Loads the library. */
export const load: Effect.Effect<Library> = Effect.promise(() => import("oauth4webapi"))

/** The options of each request of the library. */
export interface RequestOptions {
  readonly [oauth.customFetch]: (
    url: string,
    options: oauth.CustomFetchOptions<string, string | URLSearchParams | undefined>
  ) => Promise<Response>
  /** The policy of addresses decides which endpoints are requested without TLS: those of this machine. */
  readonly [oauth.allowInsecureRequests]: true
  readonly signal: AbortSignal
}

/** A request to an endpoint of an authorization server. */
export interface Call {
  /** The server that needs authorization. */
  readonly server: URL
  readonly issuer: string
}

/** The statuses of a server that may serve the same request later. */
const isPassing = (status: number): boolean => status === 408 || status === 429 || status >= 500

/** Returns the milliseconds of a `Retry-After` in seconds. */
const retryAfterMillis = (headers: OAuthResponse["headers"]): number | undefined => {
  const seconds = headers["retry-after"]
  return seconds !== undefined && /^\d{1,6}$/.test(seconds) ? Number(seconds) * 1000 : undefined
}

/** Returns the error of a server that does not answer now. */
export const outageOf = (url: URL, { headers, status }: OAuthResponse): OAuthError.OAuthError | undefined => {
  if (!isPassing(status)) return undefined
  const millis = retryAfterMillis(headers)
  return OAuthError.make({
    _tag: "Unavailable",
    url: shown(url),
    problem: `it answered with status ${status}`,
    ...(millis === undefined ? {} : { retryAfterMillis: millis })
  })
}

/** The statuses of responses that have no body. */
const withoutBody: ReadonlySet<number> = new Set([101, 204, 205, 304])

const webResponse = ({ headers, status, text }: OAuthResponse): Response => {
  const copied = new Headers()
  for (const [name, value] of Object.entries(headers)) {
    // With a challenge beside it, the library would not read the error in the body, such as `invalid_client`.
    if (name !== "www-authenticate") copied.set(name, value)
  }
  return new Response(withoutBody.has(status) ? null : text, { status, headers: copied })
}

const unusable = ({ problem, url }: UnusableResponse): OAuthError.OAuthError =>
  OAuthError.make({ _tag: "Unavailable", url, problem })

const fetchOver = (
  http: OAuthHttp,
  server: URL,
  context: Context.Context<never>
): RequestOptions[typeof oauth.customFetch] =>
async (url, options) => {
  const target = new URL(url)
  const { body, headers, method, signal } = options
  const sent = http.send(server, {
    method: method === "GET" ? "GET" : "POST",
    url: target,
    headers,
    body: body === undefined ? undefined : String(body)
  }).pipe(
    Effect.mapError((error) => error instanceof UnusableResponse ? unusable(error) : error),
    Effect.flatMap((response) => {
      const outage = outageOf(target, response)
      return outage === undefined ? Effect.succeed(response) : Effect.fail(outage)
    }),
    Effect.result
  )
  const result = await Effect.runPromiseWith(context)(sent, signal === undefined ? {} : { signal })
  // The library passes the exception on, and `call` returns it as the error.
  if (Result.isFailure(result)) throw result.failure
  return webResponse(result.success)
}

const rejected = (call: Call, status: number, error: string, description?: string): OAuthError.OAuthError =>
  OAuthError.make({
    _tag: "TokenRequestFailed",
    issuer: call.issuer,
    status,
    error,
    ...(description === undefined ? {} : { description })
  })

/** Returns the error of a call. The other errors of the library name a rule, and no value. */
const explain = (library: Library, call: Call) => (error: unknown): OAuthError.OAuthError => {
  if (error instanceof OAuthError.OAuthError) return error
  if (error instanceof library.ResponseBodyError) {
    return rejected(call, error.status, error.error, error.error_description)
  }
  if (error instanceof library.OperationProcessingError) {
    const status = error.cause instanceof Response ? error.cause.status : 200
    return rejected(call, status, "invalid_response", error.message)
  }
  if (error instanceof library.UnsupportedOperationError) return rejected(call, 200, "invalid_response", error.message)
  return rejected(call, 0, "invalid_request", error instanceof Error ? error.name : undefined)
}

/**
 * Runs functions of the library, whose requests are sent because of a server. Fails with `TokenRequestFailed` if the
 * authorization server rejects a request or answers against the specification, with `Unavailable` if it does not
 * answer now, and with `AddressForbidden`.
 */
export const call = <A>(
  http: OAuthHttp,
  request: Call,
  run: (library: Library, options: RequestOptions) => Promise<A>
): Effect.Effect<A, OAuthError.OAuthError> =>
  Effect.gen(function*() {
    const library = yield* load
    const fetch = fetchOver(http, request.server, yield* Effect.context())
    return yield* Effect.tryPromise({
      try: (signal) => run(library, { [library.customFetch]: fetch, [library.allowInsecureRequests]: true, signal }),
      catch: explain(library, request)
    })
  })

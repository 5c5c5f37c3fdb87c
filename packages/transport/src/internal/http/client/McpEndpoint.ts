/** The endpoint of a server, as one connection calls it. */
import * as TransportError from "@effect-mcp/session/TransportError"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import type { HeaderOptions, HeaderValues } from "../../../HttpClientOptions.ts"
import * as ContentEncoding from "../../shared/ContentEncoding.ts"
import * as ServerAddress from "../../shared/ServerAddress.ts"
import { AuthorizationHeaders, plainHeaders } from "./AuthorizationHeaders.ts"
import { type Call, type HttpResponse, type MakeCall } from "./HttpCall.ts"
import * as Redirects from "./Redirects.ts"
import * as ResponseBody from "./ResponseBody.ts"

/** The URL of a server, and the headers that the program sends it. */
export interface Settings {
  readonly url: string | URL
  /** Makes the headers of one request. */
  readonly headers: Effect.Effect<HeaderValues>
  readonly authorize: HeaderOptions["authorize"]
}

/** The headers by which a request belongs to a session. */
export interface Membership {
  /** The session id, after the server has given one (SHS-24). */
  readonly session: string | undefined
  /** The revision, after it is negotiated (INIT-11, SHS-30). */
  readonly revision: string | undefined
}

/** One request; its response is read while its scope is open. */
export type Called = Effect.Effect<HttpResponse, TransportError.TransportError, Scope.Scope>

/** A wrapper around a request that changes how it is run. */
export type Making = (called: Called) => Called

const unchanged: Making = (called) => called

/**
 * A URL of the server. Each request has the program's headers and those that authorize it. Redirects within the
 * server's origin are followed, and later requests use the new URL.
 */
export interface McpEndpoint {
  /** Returns the URL of GETs, after the redirects so far. */
  readonly url: () => URL
  /**
   * Sends one message (HTTP-02) and accepts JSON and SSE (HTTP-03). `making` wraps each HTTP request, also those after
   * redirects. `headers` are those of the message itself.
   */
  readonly post: (
    json: string,
    membership: Membership,
    making?: Making,
    headers?: Readonly<Record<string, string>>
  ) => Called
  /** Opens a stream, with these headers besides those of every request. */
  readonly get: (membership: Membership, headers?: Readonly<Record<string, string>>) => Called
  /** Ends the session (SHS-28). */
  readonly remove: (membership: Membership) => Called
  /** Returns the endpoint at another URL of the same server, with the same authorization. */
  readonly at: (url: URL) => McpEndpoint
  /** Drops the temporary redirects. A new session starts at the program's URL, or where it has moved permanently. */
  readonly resetRedirects: () => void
}

const memberHeaders = ({ revision, session }: Membership): Record<string, string> => ({
  ...session === undefined ? {} : { "mcp-session-id": session },
  ...revision === undefined ? {} : { "mcp-protocol-version": revision }
})

/**
 * Headers of each method that the program may replace. A POST accepts compression. A GET does not, because many servers
 * and proxies compress streams in blocks, and events would wait until a block is full.
 */
const defaultHeaders: Readonly<Record<Call["method"], Readonly<Record<string, string>>>> = {
  DELETE: {},
  GET: {},
  POST: { "accept-encoding": ContentEncoding.accepted }
}

const challengeOf = (response: HttpResponse) => response.header("www-authenticate")

const unauthenticated = (response: HttpResponse): TransportError.TransportError =>
  TransportError.make({
    _tag: "Unauthenticated",
    challenge: challengeOf(response),
    target: ServerAddress.shown(response.url)
  })

/**
 * Returns an effect that creates the endpoint of one connection. Endpoints of the same effect share the permanent
 * redirects. It fails only if the URL is invalid or has credentials.
 */
export const make = (
  call: MakeCall,
  settings: Settings
): Effect.Effect<McpEndpoint, TransportError.TransportError> => {
  const permanent = Redirects.noMoves()
  return Effect.map(ServerAddress.parse(settings.url), (url) => endpointAt(call, url, permanent, settings))
}

const endpointAt = (
  call: MakeCall,
  url: URL,
  permanent: Redirects.Moves,
  { authorize, headers }: Settings
): McpEndpoint => {
  const authorization = new AuthorizationHeaders(authorize)

  const attempt = (
    location: Redirects.Location,
    method: Call["method"],
    membership: Membership,
    own: Readonly<Record<string, string>>,
    body: string | undefined,
    making: Making = unchanged
  ): Called =>
    Effect.flatMap(headers, (values) => {
      const all = {
        ...defaultHeaders[method],
        ...plainHeaders(values),
        ...authorization.current,
        ...memberHeaders(membership),
        ...own
      }
      return location.follow(method, (url) => making(call({ method, url, headers: all, body })))
    })

  const authorized = Effect.fnUntraced(function*(attempted: Called) {
    const sentWith = authorization.version
    const response = yield* attempted
    if (response.status !== 401) return response
    yield* ResponseBody.discard(response)
    if (!(yield* authorization.renew(challengeOf(response), sentWith))) return yield* unauthenticated(response)
    const retried = yield* attempted
    return retried.status === 401 ? yield* unauthenticated(retried) : retried
  })

  const at = (location: Redirects.Location): McpEndpoint => ({
    url: () => location.of("GET"),
    post: (json, membership, making, own) =>
      authorized(
        attempt(location, "POST", membership, { accept: "application/json, text/event-stream", ...own }, json, making)
      ),
    get: (membership, own) =>
      authorized(attempt(location, "GET", membership, { accept: "text/event-stream", ...own }, undefined)),
    remove: (membership) => attempt(location, "DELETE", membership, {}, undefined),
    at: (url) => at(new Redirects.Location(url, Redirects.noMoves())),
    resetRedirects: () => location.reset()
  })
  return at(new Redirects.Location(url, permanent))
}

/**
 * The guard of an HTTP server: all checks of a request before its handler runs.
 *
 * `protect` visits each request once, in this order:
 *
 * 1. `HttpConnections`: does its connection leave too many requests or responses unread? 429
 * 2. `OriginPolicy`: are its `Host` and `Origin` accepted? 403. Each other response, that of 1 included, has the CORS
 *    headers of its origin.
 * 3. A CORS preflight request is answered; it carries no credentials.
 * 4. `Authenticator`: which principal sends it? 401, 500, 503
 * 5. Is its method served? 405. Does another process serve it? `SessionForwarding`
 * 6. The reader of its route: `Accept` (406), `Content-Type` and `Content-Encoding` (415), `MCP-Protocol-Version`
 *    (400), the body (400, 408, 413, 503).
 * 7. The handler of its route. That of POST checks the scopes of the message before it begins the response (401, 403).
 */
import { ErrorCode, Revision } from "@effect-mcp/protocol"
import { Excerpt } from "@effect-mcp/protocol/internal"
import { MemoryBudget } from "@effect-mcp/session/MemoryBudget"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import { HttpServer } from "effect/http/HttpServer"
import type { HttpServerRequest } from "effect/http/HttpServerRequest"
import * as HttpServerResponse from "effect/http/HttpServerResponse"
import * as Option from "effect/Option"
import * as Result from "effect/Result"
import { Authentication } from "../../../Authentication.ts"
import * as ContentEncoding from "../../shared/ContentEncoding.ts"
import * as FrameText from "../../shared/FrameText.ts"
import * as utf8 from "../../shared/utf8.ts"
import * as AcceptHeader from "./AcceptHeader.ts"
import * as AuthenticationHeaders from "./AuthenticationHeaders.ts"
import * as Authenticator from "./Authenticator.ts"
import * as Challenges from "./Challenges.ts"
import * as ContentType from "./ContentType.ts"
import * as HttpConnections from "./HttpConnections.ts"
import * as HttpResponses from "./HttpResponses.ts"
import type { HttpServerSettings } from "./HttpServerSettings.ts"
import * as IncomingBodies from "./IncomingBodies.ts"
import * as OriginPolicy from "./OriginPolicy.ts"
import * as ScopeRefusal from "./ScopeRefusal.ts"
import type { StreamWatchdog } from "./StreamWatchdog.ts"

type Response = HttpServerResponse.HttpServerResponse

/** A request, and the principal that sends it. */
export type Sender = ScopeRefusal.Sender

/** The body of a POST, parsed. */
export interface Body {
  readonly frame: unknown
  readonly bytes: number
}

/** The revision that a request declares; `undefined` if it declares none (SHS-29). */
export type DeclaredVersion = Revision.LegacyRevision | undefined

/** A POST that is read. */
export interface Post extends Sender, Body {
  readonly version: DeclaredVersion
}

/** Serves a request of one method. The server sends its response, whether it succeeds or fails with it. */
export type Route = (sender: Sender) => Effect.Effect<Response, Response>

/** The routes of a path, by method. */
export type Routes = ReadonlyMap<string, Route>

/**
 * Decides which process serves a request, and serves it here with `serve`, or returns the response of the other one.
 */
export type Place = (sender: Sender, serve: Route, single: Authenticator.Deferring) => Effect.Effect<Response, Response>

/** Serves all requests of a path. */
export type Handler = (request: HttpServerRequest) => Effect.Effect<Response>

/** Returns the response to a request whose method is not served. */
export type MethodNotAllowed = (message: string, headers: HttpResponses.Headers) => Response

/** The guard of one server. */
export interface HttpGuard {
  /**
   * Returns a handler that checks each request and passes it to the route of its method, by `place` if processes share
   * the requests.
   */
  readonly protect: (
    routes: Routes,
    options?: { readonly methodNotAllowed?: MethodNotAllowed | undefined; readonly place?: Place | undefined }
  ) => Handler
  /**
   * Reads a POST whose response is JSON or an event stream. The caller checks its declared version, because the body
   * decides how.
   */
  readonly readPost: (sender: Sender) => Effect.Effect<Omit<Post, "version">, Response>
  /** Reads the body of a POST, and nothing else of it. */
  readonly readBody: (request: HttpServerRequest) => Effect.Effect<Body, Response>
  /** Receives the body of a request, and does not parse it. */
  readonly receive: IncomingBodies.IncomingBodies["receive"]
  /** The responses to requests that lack scopes. */
  readonly scopes: ScopeRefusal.ScopeRefusal
}

/**
 * The headers that a page of an allowed origin may always send: all that a client of this library sends. The HTTP
 * client of Effect adds `b3` and `traceparent` to each request. Without them here, the browser would send none.
 */
const allowedHeaders = [
  "accept",
  "authorization",
  "b3",
  "content-type",
  "dpop",
  "last-event-id",
  "mcp-method",
  "mcp-name",
  "mcp-protocol-version",
  "mcp-session-id",
  "traceparent",
  "tracestate"
]

/** The bounds of the headers of arguments in one preflight request: their number, and the characters of a name. */
const maxParameterHeaders = 64
const maxParameterName = 128

/** The number of names in one preflight request that are looked at. */
const maxPreflightNames = 256

/** The name of a header that repeats an argument, as Fetch sends it (SHE-25): a token in lower case. */
const parameterHeader = /^mcp-param-[!#$%&'*+.^_`|~0-9a-z-]+$/

/** Returns the requested headers that repeat arguments. Tools name them, so they are in no list (SHE-25). */
const parameterHeadersIn = (requested: string | undefined): ReadonlyArray<string> =>
  (requested ?? "").split(",", maxPreflightNames).map((name) => name.trim().toLowerCase())
    .filter((name) => name.length <= maxParameterName && parameterHeader.test(name))
    .slice(0, maxParameterHeaders)

/** Returns the headers of the response to a preflight request. */
const preflightHeaders = ({ headers }: HttpServerRequest): HttpResponses.Headers => ({
  "access-control-allow-headers": [
    ...allowedHeaders,
    ...parameterHeadersIn(headers["access-control-request-headers"])
  ].join(", "),
  "access-control-max-age": "86400"
})

const isPreflight = ({ headers, method }: HttpServerRequest): boolean =>
  method === "OPTIONS" && headers["access-control-request-method"] !== undefined

/** Returns the headers of each response to a page of an allowed origin. */
const corsHeaders = (origin: string): HttpResponses.Headers => ({
  "access-control-allow-origin": origin,
  vary: "origin",
  "access-control-expose-headers": "mcp-session-id, mcp-protocol-version, www-authenticate, retry-after, dpop-nonce"
})

const methodNotAllowedInJson: MethodNotAllowed = (message, headers) => HttpResponses.error(405, message, { headers })

const notJson = HttpResponses.error(415, "Content-Type must be application/json")

/** The header `Accept-Encoding` declares that no compression is accepted (RFC 9110, 12.5.3). */
const compressed = HttpResponses.error(415, "Content-Encoding is not supported; send the body without it", {
  headers: { "accept-encoding": "identity" }
})

const unparsable = HttpResponses.error(400, "Parse error", { code: ErrorCode.ParseError })

/**
 * Returns the version that a request declares. Fails if this library does not know it, or if it has no sessions.
 * `served` are the revisions of the server.
 */
export const declaredVersion = (
  { headers, method }: HttpServerRequest,
  served: ReadonlyArray<string>
): Effect.Effect<DeclaredVersion, Response> => {
  const version = headers["mcp-protocol-version"]
  if (version === undefined || Revision.isLegacy(version)) return Effect.succeed(version)
  return Effect.fail(
    served.includes(version)
      ? HttpResponses.error(405, `${method} is not served in revision ${version}, which has no sessions`, {
        headers: { allow: "POST" }
      })
      : HttpResponses.error(
        400,
        `MCP-Protocol-Version ${JSON.stringify(Excerpt.of(version))} is not supported; supported: ${served.join(", ")}`
      )
  )
}

/** Makes the guard. The address of an `HttpServer` in the context decides which hosts are accepted by default. */
export const make = Effect.fnUntraced(function*(
  watchdog: StreamWatchdog,
  settings: HttpServerSettings
): Effect.fn.Return<HttpGuard, never, Authentication> {
  const { allowedHosts, allowedOrigins, maxMessageNodes } = settings
  const authentication = yield* Authentication
  const authenticator = Authenticator.make(authentication, settings.identifyMillis, yield* Clock.Clock)
  const server = Option.getOrUndefined(yield* Effect.serviceOption(HttpServer))
  const budget = yield* MemoryBudget
  const connections = HttpConnections.make(watchdog, { ...settings, budget })
  const bodies = IncomingBodies.make(watchdog, { ...settings, budget })
  const policy = OriginPolicy.make({
    allowedHosts,
    allowedOrigins,
    loopback: server !== undefined && OriginPolicy.isLoopbackAddress(server.address)
  })

  const parse = (bytes: Uint8Array): Effect.Effect<Body, Response> => {
    const frame = FrameText.parseBytes(utf8.withoutByteOrderMark(bytes), maxMessageNodes)
    if (Result.isSuccess(frame)) return Effect.succeed({ frame: frame.success, bytes: bytes.byteLength })
    const { failure } = frame
    return Effect.fail(
      failure._tag === "TooComplex"
        ? HttpResponses.error(
          413,
          `The body has ${failure.nodes} arrays, objects and members (8 for an integer beyond 2^53); ` +
            `the limit is ${maxMessageNodes} (maxMessageNodes)`
        )
        : unparsable
    )
  }

  const readBody: HttpGuard["readBody"] = (request) => {
    const { "content-encoding": encoding, "content-type": type } = request.headers
    if (!ContentType.isJson(type)) return Effect.fail(notJson)
    return ContentEncoding.isCompressed(encoding)
      ? Effect.fail(compressed)
      : Effect.flatMap(bodies.receive(request), parse)
  }

  const acceptsReply = (request: HttpServerRequest): Effect.Effect<void, Response> =>
    Effect.flatMapEager(
      AcceptHeader.requireJsonAndEventStream(request),
      () => ContentType.isJson(request.headers["content-type"]) ? Effect.void : Effect.fail(notJson)
    )

  const readPost: HttpGuard["readPost"] = (sender) =>
    Effect.flatMapEager(
      acceptsReply(sender.request),
      () => Effect.map(readBody(sender.request), ({ bytes, frame }) => ({ ...sender, bytes, frame }))
    )

  /** Serves a request here, or at another process, which then uses what is valid once. */
  const servePlaced = (request: HttpServerRequest, place: Place, serve: Route): Effect.Effect<Response> => {
    const single = authenticator.defer(request)
    return Effect.catch(
      Effect.flatMapEager(single.identified, (principal) => {
        const served: Route = (sender) =>
          single.hasUse() ? Effect.andThen(single.use, Effect.suspend(() => serve(sender))) : serve(sender)
        return place({ request, principal }, served, single)
      }),
      // Another process can still carry a misdirected request out. For each other one, a replay must come too late.
      (response) =>
        single.hasUse() && response !== HttpResponses.misdirected
          ? Effect.as(Effect.ignore(single.use), response)
          : Effect.succeed(response)
    )
  }

  const route = (
    routes: Routes,
    request: HttpServerRequest,
    methodNotAllowed: MethodNotAllowed,
    place: Place | undefined
  ): Effect.Effect<Response> => {
    const { headers, method } = request
    const allowed = () => Array.from(routes.keys()).join(", ")
    if (headers["origin"] !== undefined && isPreflight(request)) {
      const preflight = { ...preflightHeaders(request), "access-control-allow-methods": allowed() }
      return Effect.succeed(HttpResponses.empty(204, preflight))
    }
    const served = routes.get(method)
    if (served !== undefined && place !== undefined) return servePlaced(request, place, served)
    const serve: Route = served ??
      (() => Effect.fail(methodNotAllowed(`${Excerpt.of(method)} is not served here`, { allow: allowed() })))
    return Effect.catch(
      Effect.flatMapEager(authenticator.identify(request), (principal) => serve({ request, principal })),
      Effect.succeed
    )
  }

  const protect = (
    routes: Routes,
    request: HttpServerRequest,
    methodNotAllowed: MethodNotAllowed,
    place: Place | undefined
  ): Effect.Effect<Response> => {
    const { host, origin, "sec-fetch-site": site } = request.headers
    // Requests over web standards and HTTP/2 have the host in the URL only.
    const problem = policy.problem(host ?? OriginPolicy.hostIn(request.originalUrl), origin, site)
    const served = connections.serve(request, () => {
      if (problem !== undefined) return Effect.succeed(HttpResponses.error(403, problem))
      return route(routes, request, methodNotAllowed, place)
    })
    const own = problem === undefined ? AuthenticationHeaders.of(authentication, request) : undefined
    // Also of a request that its connection rejects: without these headers, a page cannot read why.
    const cors = origin === undefined || problem !== undefined ? undefined : corsHeaders(origin)
    return own === undefined && cors === undefined
      ? served
      : Effect.map(served, (response) => HttpServerResponse.setHeaders(response, { ...own, ...cors }))
  }

  return {
    protect: (routes, { methodNotAllowed = methodNotAllowedInJson, place } = {}) => (request) =>
      protect(routes, request, methodNotAllowed, place),
    readPost,
    readBody,
    receive: bodies.receive,
    scopes: ScopeRefusal.make(Challenges.make(authentication))
  }
})

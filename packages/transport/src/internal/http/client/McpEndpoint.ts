/** The endpoint of a server, as one connection calls it. */
import type * as TransportError from "@effect-mcp/session/TransportError"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import type { ClientAuthorization } from "../../../ClientAuthorization.ts"
import type { HeaderValues } from "../../../HttpClientOptions.ts"
import * as ContentEncoding from "../../shared/ContentEncoding.ts"
import * as ServerAddress from "../../shared/ServerAddress.ts"
import { type Call, type HttpResponse, type MakeCall } from "./HttpCall.ts"
import { plainHeaders } from "./ProgramHeaders.ts"
import * as Redirects from "./Redirects.ts"
import * as RequestAuthorization from "./RequestAuthorization.ts"
import * as ResponseBody from "./ResponseBody.ts"

/** The URL of a server, and the headers that the program sends it. */
export interface Settings {
  readonly url: string | URL
  /** Makes the headers of one request. */
  readonly headers: Effect.Effect<HeaderValues>
  readonly authorization: ClientAuthorization["Service"] | undefined
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

/** Returns the body of a message as its operation, which a stream and the end of a session do not have. */
const operationIn = (body: string | undefined) => (): string | undefined =>
  body === undefined ? undefined : RequestAuthorization.operationOf(body)

/**
 * Returns an effect that creates the endpoint of one connection. Endpoints of the same effect share the permanent
 * redirects, and those of one URL the authorization. It fails if the URL is invalid or has credentials.
 */
export const make = (
  call: MakeCall,
  settings: Settings
): Effect.Effect<McpEndpoint, TransportError.TransportError> => {
  const permanent = Redirects.noMoves()
  return Effect.flatMap(ServerAddress.parse(settings.url), (url) =>
    Effect.map(
      RequestAuthorization.of(settings.authorization, url),
      (authorization) => endpointAt(call, url, permanent, settings.headers, authorization)
    ))
}

const endpointAt = (
  call: MakeCall,
  url: URL,
  permanent: Redirects.Moves,
  headers: Settings["headers"],
  authorization: RequestAuthorization.RequestAuthorization | undefined
): McpEndpoint => {
  type Request = (
    location: Redirects.Location,
    method: Call["method"],
    membership: Membership,
    own: Readonly<Record<string, string>>,
    body: string | undefined,
    making?: Making
  ) => Called

  const anonymous: Request = (location, method, membership, own, body, making = unchanged) => {
    const sent = Effect.flatMap(headers, (values) => {
      const all = { ...defaultHeaders[method], ...plainHeaders(values), ...memberHeaders(membership), ...own }
      return location.follow(method, (url) => making(call({ method, url, headers: all, body })))
    })
    return Effect.flatMap(
      sent,
      (response) => response.status === 401 ? rejected(response) : Effect.succeed(response)
    )
  }

  const authorized =
    (authorization: RequestAuthorization.RequestAuthorization): Request =>
    (location, method, membership, own, body, making = unchanged) =>
      Effect.suspend(() => {
        const sent = authorization.begin(method, location.of(method), operationIn(body))
        const sending: Called = Effect.flatMap(headers, (values) => {
          const programs = { ...defaultHeaders[method], ...plainHeaders(values) }
          const protocols = { ...memberHeaders(membership), ...own }
          return location.follow(method, (url) =>
            Effect.flatMap(authorization.headers(sent, url), (authorizing) =>
              making(call({ method, url, headers: { ...programs, ...authorizing, ...protocols }, body }))))
        })
        const handled: Called = Effect.flatMap(sending, (response) => {
          if (!authorization.isRejection(sent, response)) {
            return Effect.succeed(response)
          }
          // The body of a 401 is not shown, and that of a 403 is. Either frees its connection before the authorization
          // sends requests of its own.
          if (response.status === 401) {
            return Effect.flatMap(
              Effect.andThen(ResponseBody.discard(response), authorization.rejected(sent, response)),
              (isAgain) =>
                isAgain ? handled : Effect.fail(RequestAuthorization.unauthenticated(response))
            )
          }
          return Effect.flatMap(ResponseBody.collected(response), (collected) =>
            Effect.flatMap(
              authorization.rejected(sent, response),
              (isAgain) =>
                isAgain ? handled : Effect.succeed(collected)
            ))
        })
        return handled
      })

  const request = authorization === undefined ? anonymous : authorized(authorization)

  const at = (location: Redirects.Location): McpEndpoint => ({
    url: () => location.of("GET"),
    post: (json, membership, making, own) =>
      request(location, "POST", membership, { accept: "application/json, text/event-stream", ...own }, json, making),
    get: (membership, own) => request(location, "GET", membership, { accept: "text/event-stream", ...own }, undefined),
    remove: (membership) => request(location, "DELETE", membership, {}, undefined),
    at: (url) => at(new Redirects.Location(url, Redirects.noMoves())),
    resetRedirects: () => location.reset()
  })
  return at(new Redirects.Location(url, permanent))
}

/** Reads the rest of a response with 401, and fails with its challenge. */
const rejected = (response: HttpResponse): Effect.Effect<never, TransportError.TransportError> =>
  Effect.andThen(ResponseBody.discard(response), Effect.fail(RequestAuthorization.unauthenticated(response)))

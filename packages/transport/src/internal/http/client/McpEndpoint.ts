import * as TransportError from "@effect-mcp/session/TransportError"
import * as Effect from "effect/Effect"
import type { Redacted } from "effect/Redacted"
import type * as Scope from "effect/Scope"
import * as ContentEncoding from "../../shared/ContentEncoding.ts"
import { AuthorizationHeaders, type Authorize } from "./AuthorizationHeaders.ts"
import { type Answer, type Call, type MakeCall } from "./HttpCall.ts"
import { plainHeaders } from "./plainHeaders.ts"
import * as Redirects from "./Redirects.ts"
import * as ResponseBody from "./ResponseBody.ts"
import * as ServerAddress from "./serverAddress.ts"

type HeaderValues = Readonly<Record<string, string | Redacted<string>>>

/** Where the server is, and what the program wants to be said to it. */
export interface Settings {
  readonly url: string | URL
  /** Run for each call. */
  readonly headers: Effect.Effect<HeaderValues>
  /** Asked for headers that prove who asks. */
  readonly authorize: Authorize | undefined
}

/** What a call says of the session it belongs to. */
export interface Membership {
  /** The session id, once the server has given one (SHS-24). */
  readonly session: string | undefined
  /** The revision, once it has been agreed on (INIT-11, SHS-30). */
  readonly revision: string | undefined
}

/** One call; its answer is read while its scope is open. */
export type Called = Effect.Effect<Answer, TransportError.TransportError, Scope.Scope>

/** How a call is made, where there is more to it than to make it. */
export type Making = (called: Called) => Called

const plainly: Making = (called) => called

/**
 * A URL of the server's, as one session sees it. Each call has the program's own headers, and its proof of who asks.
 * Redirects within the server's origin are followed, and serve later calls.
 */
export interface McpEndpoint {
  /** Where its streams are, as far as is known. */
  readonly url: () => URL
  /** Sends one message (HTTP-02). Either form of answer will do (HTTP-03). Each call that it takes is made in this way. */
  readonly post: (json: string, membership: Membership, making?: Making) => Called
  /** Opens a stream (SHS-12): the standalone one, or one that goes on behind this event (SHS-19). */
  readonly get: (membership: Membership, lastEventId: string | undefined) => Called
  /** Ends the session (SHS-28). */
  readonly remove: (membership: Membership) => Called
  /** Another URL of the same server. What has proved who asks here proves it there. */
  readonly at: (url: URL) => McpEndpoint
  /**
   * Forgets where temporary redirects led: a new session begins at the URL that the program named, or that it has moved
   * to for good.
   */
  readonly resetRedirects: () => void
}

const memberHeaders = ({ revision, session }: Membership): Record<string, string> => ({
  ...session === undefined ? {} : { "mcp-session-id": session },
  ...revision === undefined ? {} : { "mcp-protocol-version": revision }
})

/**
 * Compression is asked for where an answer may be large, and where the program has not said otherwise. It is not asked
 * for streams: many servers and proxies compress them in blocks, and events would wait until one is full.
 */
const asking: Readonly<Record<Call["method"], Readonly<Record<string, string>>>> = {
  DELETE: {},
  GET: {},
  POST: { "accept-encoding": ContentEncoding.accepted }
}

const challengeOf = (answer: Answer) => answer.header("www-authenticate")

const unauthenticated = (answer: Answer): TransportError.TransportError =>
  TransportError.make({ _tag: "Unauthenticated", challenge: challengeOf(answer) })

/**
 * An effect that makes the endpoint of one connection. Endpoints that come of the same effect share the permanent
 * redirects. It fails only if the URL is none, or has credentials in it.
 */
export const make = (
  call: MakeCall,
  settings: Settings
): Effect.Effect<McpEndpoint, TransportError.TransportError> => {
  const permanent = Redirects.noMoves()
  return Effect.map(ServerAddress.parse(settings.url), (url) => known(call, url, permanent, settings))
}

const known = (
  call: MakeCall,
  url: URL,
  permanent: Redirects.Moves,
  { authorize, headers }: Settings
): McpEndpoint => {
  const proof = new AuthorizationHeaders(authorize)

  const attempt = (
    location: Redirects.Location,
    method: Call["method"],
    membership: Membership,
    own: Readonly<Record<string, string>>,
    body: string | undefined,
    making: Making = plainly
  ): Called =>
    Effect.flatMap(headers, (values) => {
      const all = { ...asking[method], ...plainHeaders(values), ...proof.headers, ...memberHeaders(membership), ...own }
      return location.follow(method, (url) => making(call({ method, url, headers: all, body })))
    })

  const authorized = Effect.fnUntraced(function*(attempted: Called) {
    const since = proof.count
    const answer = yield* attempted
    if (answer.status !== 401) return answer
    yield* ResponseBody.discard(answer)
    if (!(yield* proof.renew(challengeOf(answer), since))) return yield* unauthenticated(answer)
    const again = yield* attempted
    return again.status === 401 ? yield* unauthenticated(again) : again
  })

  const at = (location: Redirects.Location): McpEndpoint => ({
    url: () => location.of("GET"),
    post: (json, membership, making) =>
      authorized(
        attempt(location, "POST", membership, { accept: "application/json, text/event-stream" }, json, making)
      ),
    get: (membership, lastEventId) =>
      authorized(attempt(
        location,
        "GET",
        membership,
        { accept: "text/event-stream", ...lastEventId === undefined ? {} : { "last-event-id": lastEventId } },
        undefined
      )),
    remove: (membership) => attempt(location, "DELETE", membership, {}, undefined),
    at: (url) => at(new Redirects.Location(url, Redirects.noMoves())),
    resetRedirects: () => location.reset()
  })
  return at(new Redirects.Location(url, permanent))
}

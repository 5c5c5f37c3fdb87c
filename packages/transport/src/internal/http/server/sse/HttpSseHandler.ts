/** The handlers of HTTP+SSE: a GET opens a session with its event stream, and a POST carries one message. */
import { JsonRpc } from "@effect-mcp/protocol"
import { SessionId } from "@effect-mcp/session/internal"
import * as Principal from "@effect-mcp/session/Principal"
import * as SessionHost from "@effect-mcp/session/SessionHost"
import * as Effect from "effect/Effect"
import type { HttpServerRequest } from "effect/http/HttpServerRequest"
import type * as HttpServerResponse from "effect/http/HttpServerResponse"
import * as ClientAddress from "../../../shared/ClientAddress.ts"
import * as InitializeRequest from "../../../shared/InitializeRequest.ts"
import * as AcceptHeader from "../AcceptHeader.ts"
import { HostedConnections } from "../HostedConnections.ts"
import type * as HttpGuard from "../HttpGuard.ts"
import * as HttpResponses from "../HttpResponses.ts"
import { HttpSseServerConnection, type Options as ConnectionOptions } from "./HttpSseServerConnection.ts"

type Response = HttpServerResponse.HttpServerResponse

/** The connections of all servers: several may be in front of one host. */
const connections = new HostedConnections<HttpSseServerConnection>()

/** A session that a request names, and its connection. */
interface Found {
  readonly hosted: SessionHost.Hosted
  readonly connection: HttpSseServerConnection
}

/** The query parameter that names the session in the URL for POSTs. */
export const parameter = "sessionId"

const sessionIn = (url: string): string | null => {
  const query = url.indexOf("?")
  return new URLSearchParams(query < 0 ? "" : url.slice(query + 1)).get(parameter)
}

/** The reference for the POSTs of this session. */
const withSession = (endpoint: string, id: string): string =>
  `${endpoint}${endpoint.includes("?") ? "&" : "?"}${parameter}=${id}`

const unknownSession = HttpResponses.error(404, "There is no session with this id; open a stream to start one")

const noSessionId = HttpResponses.text(400, `The query parameter ${parameter} is missing`)

const accepted = HttpResponses.empty(202)

/** The handlers of the two endpoints, and one for both at the same path (SSE-01). */
export interface HttpSseHandler {
  readonly stream: HttpGuard.Handler
  readonly messages: HttpGuard.Handler
  readonly both: HttpGuard.Handler
}

/** Returns 405 in plain text: a client that probes for HTTP+SSE would take JSON for the response of a newer server. */
const methodNotAllowed: HttpGuard.MethodNotAllowed = (message, headers) => HttpResponses.text(405, message, headers)

/** Makes the handlers of the two endpoints, in front of a host. */
export const make = Effect.fnUntraced(function*(
  guard: HttpGuard.HttpGuard,
  options: ConnectionOptions & {
    /** The reference for POSTs, without the session. */
    readonly endpoint: (request: HttpServerRequest) => string
    readonly maxInitializeBytes: number
  }
): Effect.fn.Return<HttpSseHandler, never, SessionHost.SessionHost> {
  const host = yield* SessionHost.SessionHost
  const { endpoint, maxInitializeBytes } = options

  const open = ({ principal, request }: HttpGuard.Sender): Effect.Effect<Response> =>
    Effect.suspend(() => {
      const id = SessionId.make()
      const connection = connections.register(new HttpSseServerConnection(withSession(endpoint(request), id), options))
      return Effect.map(
        host.open(connection, {
          kind: "http-sse",
          id,
          principal,
          // The client cannot resume the stream, so the session ends with the identity of the stream.
          endsAt: principal?.expiresAt,
          client: ClientAddress.of(request)
        }),
        // In one step: without it, an interruption could leave a session whose body is never closed.
        (hosted) => {
          const body = connection.start()
          body.onClose(hosted.hold())
          return HttpResponses.eventStream(body, {})
        }
      )
    }).pipe(
      Effect.uninterruptible,
      Effect.catch((error) => Effect.succeed(HttpResponses.openFailed(error, undefined)))
    )

  const get: HttpGuard.Route = (sender) =>
    // A client without `Accept` accepts everything.
    sender.request.headers["accept"] === undefined
      ? open(sender)
      : Effect.andThen(AcceptHeader.requireEventStream(sender.request), open(sender))

  /** Returns the session with this id, if it is open and belongs to this principal. */
  const find = (id: string, principal: Principal.Principal | undefined): Found | undefined => {
    const hosted = host.find(id)
    const connection = hosted === undefined ? undefined : connections.of(hosted)
    return hosted === undefined || connection === undefined || connection.isClosed ||
        !Principal.isSame(hosted.principal, principal)
      ? undefined
      : { hosted, connection }
  }

  const notFound = Effect.flatMap(
    host.health,
    ({ draining, retryAfterMillis }) =>
      Effect.fail(draining ? HttpResponses.shuttingDown(retryAfterMillis) : unknownSession)
  )

  const post: HttpGuard.Route = Effect.fnUntraced(function*({ principal, request }) {
    const id = sessionIn(request.url)
    if (id === null) return yield* Effect.fail(noSessionId)
    // Before the body is read, so that a body for an unknown session takes no memory.
    if (find(id, principal) === undefined) return yield* notFound
    const { bytes, frame } = yield* guard.readBody(request)
    if (bytes > maxInitializeBytes && InitializeRequest.is(frame)) {
      return yield* Effect.fail(HttpResponses.initializeTooLarge(frame.id, maxInitializeBytes))
    }
    // Again, because the session may have ended while the body arrived.
    const found = find(id, principal)
    if (found === undefined) return yield* notFound
    const refused = guard.scopes.check(host.stateless, JsonRpc.classify(frame), { principal, request })
    if (refused !== undefined) return yield* Effect.fail(refused)
    found.hosted.touch()
    found.connection.post(frame, bytes, principal)
    return accepted
  })

  const protect = (...routes: ReadonlyArray<readonly [string, HttpGuard.Route]>) =>
    guard.protect(new Map(routes), { methodNotAllowed })

  return {
    stream: protect(["GET", get]),
    messages: protect(["POST", post]),
    both: protect(["GET", get], ["POST", post])
  }
})

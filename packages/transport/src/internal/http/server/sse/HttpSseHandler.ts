import * as Principal from "@effect-mcp/session/Principal"
import * as SessionHost from "@effect-mcp/session/SessionHost"
import * as Effect from "effect/Effect"
import type { HttpServerRequest } from "effect/http/HttpServerRequest"
import type * as HttpServerResponse from "effect/http/HttpServerResponse"
import * as ClientAddress from "../../../shared/ClientAddress.ts"
import * as InitializeRequest from "../../../shared/InitializeRequest.ts"
import type { Admission, Serve } from "../HttpGuard.ts"
import * as HttpResponses from "../HttpResponses.ts"
import * as MediaTypes from "../MediaTypes.ts"
import { HttpSseServerConnection, type Options as ConnectionOptions } from "./HttpSseServerConnection.ts"

type Response = HttpServerResponse.HttpServerResponse

const connectionOf = (hosted: SessionHost.Hosted): HttpSseServerConnection | undefined =>
  hosted.transport instanceof HttpSseServerConnection ? hosted.transport : undefined

/** A session, and its connection. */
interface Found {
  readonly hosted: SessionHost.Hosted
  readonly connection: HttpSseServerConnection
}

/** The name of the session in the query of what a client POSTs to. */
export const parameter = "sessionId"

const sessionIn = (url: string): string | null => {
  const query = url.indexOf("?")
  return new URLSearchParams(query < 0 ? "" : url.slice(query + 1)).get(parameter)
}

/** The reference with which a client comes back to its session. */
const naming = (endpoint: string, id: string): string =>
  `${endpoint}${endpoint.includes("?") ? "&" : "?"}${parameter}=${id}`

const unknownSession = HttpResponses.refusal(404, "There is no session with this id")

const unnamed = HttpResponses.plain(400, `The query must name the session: ${parameter}`)

const accepted = HttpResponses.empty(202)

/** What serves the requests that were let in, by their methods. */
export interface Endpoints {
  /** A GET opens a session, and hears all that the server says in it. */
  readonly stream: ReadonlyMap<string, Serve>
  /** A POST brings one message into the session that it names. */
  readonly messages: ReadonlyMap<string, Serve>
}

/** What serves the two endpoints (SSE-01), in front of a host of sessions. */
export const make = Effect.fnUntraced(function*(
  admission: Admission,
  options: ConnectionOptions & {
    /** What is said of where to POST to, without the session. */
    readonly endpoint: (request: HttpServerRequest) => string
    readonly maxInitializeBytes: number
  }
): Effect.fn.Return<Endpoints, never, SessionHost.SessionHost> {
  const host = yield* SessionHost.SessionHost
  const { endpoint, maxInitializeBytes } = options

  const open = (request: HttpServerRequest, principal: Principal.Principal | undefined): Effect.Effect<Response> =>
    Effect.suspend(() => {
      const id = globalThis.crypto.randomUUID()
      const connection = new HttpSseServerConnection(naming(endpoint(request), id), options)
      return Effect.map(
        host.open(connection, { kind: "http-sse", id, principal, client: ClientAddress.of(request) }),
        // In one step, so that a session has a reader, which is seen to leave.
        (hosted) => HttpResponses.events(connection.listen(hosted.hold()), {})
      )
    }).pipe(
      Effect.uninterruptible,
      Effect.catch((error) => Effect.succeed(HttpResponses.notOpened(error, undefined)))
    )

  const get: Serve = (request, principal) => {
    const { accept } = request.headers
    // Whoever says nothing of what it takes takes anything.
    return accept === undefined || MediaTypes.accepts(accept, "text/event-stream")
      ? open(request, principal)
      : Effect.fail(HttpResponses.refusal(406, "Accept must list text/event-stream"))
  }

  /** The session with this id, if it is there. To anybody but its own principal it is not. */
  const sessionOf = (id: string, principal: Principal.Principal | undefined): Found | undefined => {
    const hosted = host.find(id)
    const connection = hosted === undefined ? undefined : connectionOf(hosted)
    return hosted === undefined || connection === undefined || connection.isOver ||
        !Principal.isSame(hosted.principal, principal)
      ? undefined
      : { hosted, connection }
  }

  const missing = Effect.flatMap(
    host.health,
    ({ draining, retryAfterMillis }) => Effect.fail(draining ? HttpResponses.leaving(retryAfterMillis) : unknownSession)
  )

  const post: Serve = Effect.fnUntraced(function*(request, principal) {
    const id = sessionIn(request.url)
    if (id === null) return yield* Effect.fail(unnamed)
    // Nothing is read for a session that is not there.
    if (sessionOf(id, principal) === undefined) return yield* missing
    const { bytes, frame } = yield* admission.brought(request)
    if (bytes > maxInitializeBytes && InitializeRequest.is(frame)) {
      return yield* Effect.fail(HttpResponses.longInitialize(frame.id, maxInitializeBytes))
    }
    // It may have ended meanwhile.
    const found = sessionOf(id, principal)
    if (found === undefined) return yield* missing
    found.hosted.touch()
    found.connection.post(frame, bytes, principal)
    return accepted
  })

  return { stream: new Map([["GET", get]]), messages: new Map([["POST", post]]) }
})

/** The handler of Streamable HTTP with sessions: POST carries a message, GET opens a stream, DELETE ends a session. */
import { type CloseReason, JsonRpc, type RequestId, Revision } from "@effect-mcp/protocol"
import type { EventStore } from "@effect-mcp/session/EventStore"
import * as Principal from "@effect-mcp/session/Principal"
import * as SessionHost from "@effect-mcp/session/SessionHost"
import * as SessionId from "@effect-mcp/session/SessionId"
import type * as SessionlessServer from "@effect-mcp/session/SessionlessServer"
import * as Effect from "effect/Effect"
import * as HttpServerResponse from "effect/http/HttpServerResponse"
import type * as Scope from "effect/Scope"
import * as ClientAddress from "../../../shared/ClientAddress.ts"
import * as InitializeRequest from "../../../shared/InitializeRequest.ts"
import * as AcceptHeader from "../AcceptHeader.ts"
import { HostedConnections } from "../HostedConnections.ts"
import * as HttpGuard from "../HttpGuard.ts"
import * as HttpResponses from "../HttpResponses.ts"
import { onUndelivered } from "../ResponseDelivery.ts"
import type { PostResponse } from "./PostResponse.ts"
import { SessionlessExchanges } from "./SessionlessExchanges.ts"
import { type Options as ConnectionOptions, StreamableHttpServerConnection } from "./StreamableHttpServerConnection.ts"

type Response = HttpServerResponse.HttpServerResponse

/** The connections of all servers: several may be in front of one host. */
const connections = new HostedConnections<StreamableHttpServerConnection>()

/** The close reason of a session that its client has ended or cannot use. */
const peerEnded: CloseReason.CloseReason = { _tag: "PeerEnded", exit: undefined }

/** A session that a request names, and its connection. */
interface Found {
  readonly hosted: SessionHost.Hosted
  readonly connection: StreamableHttpServerConnection
}

/** The id of the request in a body; `undefined` if there is none. */
const idOf = (frame: unknown): RequestId.RequestId | undefined => {
  const classified = JsonRpc.classify(frame)
  return classified._tag === "Request" ? classified.message.id : undefined
}

const noSessionId = (frame: unknown): Response =>
  HttpResponses.error(400, "The header Mcp-Session-Id is missing", { id: idOf(frame) })

const unknownSession = (frame: unknown): Response =>
  HttpResponses.error(404, "There is no session with this id; send initialize to start one", { id: idOf(frame) })

/** 405, as for a server without streams: some clients reconnect endlessly to a stream that ends without an event. */
const nothingMissed = HttpResponses.error(405, "The stream has ended, and there are no events after this one", {
  headers: { allow: "POST, DELETE" }
})

const hasStandaloneStream = HttpResponses.error(409, "The session already has a standalone SSE stream")

const notStored = HttpResponses.error(400, "The stream cannot be resumed: one of its events could not be stored")

/** Makes the handler of all requests to the sessions of a host. */
export const make = Effect.fnUntraced(function*(
  guard: HttpGuard.HttpGuard,
  responses: PostResponse,
  options: ConnectionOptions & { readonly maxInitializeBytes: number }
): Effect.fn.Return<HttpGuard.Handler, never, Scope.Scope | SessionHost.SessionHost> {
  const host = yield* SessionHost.SessionHost
  const fork = Effect.runForkWith(yield* Effect.context<never>())
  const { maxInitializeBytes, store } = options
  const { revisions } = host.sessionless
  const exchanges = new SessionlessExchanges(host.sessionless, fork, options)
  yield* Effect.addFinalizer(() => exchanges.ended)

  const connectionFor = (id: string) => connections.register(new StreamableHttpServerConnection(id, options))

  // ===================================================================================================================
  // The session of a request
  // ===================================================================================================================

  /** Returns the session that a request names. Errors have the id of the request in `frame`, if there is one. */
  const findSession = (
    { principal, request }: HttpGuard.Sender,
    frame: unknown
  ): Effect.Effect<Found, Response> => {
    const id = request.headers["mcp-session-id"]
    if (id === undefined) return Effect.fail(noSessionId(frame))
    const check = (hosted: SessionHost.Hosted | undefined): Effect.Effect<Found, Response> => {
      // While the host drains, 503 instead of 404: another host may restore the session.
      if (hosted === undefined) {
        return Effect.flatMap(
          host.health,
          ({ draining, retryAfterMillis }) =>
            Effect.fail(
              draining ? HttpResponses.shuttingDown(retryAfterMillis, idOf(frame)) : unknownSession(frame)
            )
        )
      }
      const connection = connections.of(hosted)
      // For any other principal the session does not exist.
      return connection !== undefined && Principal.isSame(hosted.principal, principal)
        ? Effect.succeed({ hosted, connection })
        : Effect.fail(unknownSession(frame))
    }
    const found = host.find(id)
    if (found !== undefined) return check(found)
    const restored = host.restore(id, connectionFor(id), {
      kind: "streamable-http",
      principal,
      client: ClientAddress.of(request)
    })
    return restored.pipe(
      Effect.map((outcome) => outcome._tag === "NotFound" ? undefined : outcome.hosted),
      Effect.catchTags({
        HostFull: (error) => Effect.fail(HttpResponses.hostFull(error, idOf(frame))),
        TransportError: () => Effect.undefined,
        // The host has logged the cause.
        SessionStoreError: () =>
          Effect.fail(HttpResponses.unavailable("The session store is not available", { id: idOf(frame) }))
      }),
      Effect.flatMap(check)
    )
  }

  // ===================================================================================================================
  // POST
  // ===================================================================================================================

  /** Opens a session with this `initialize` request. */
  const open = ({ bytes, principal, request }: HttpGuard.Post, initialize: JsonRpc.Request): Effect.Effect<Response> =>
    Effect.uninterruptibleMask((restore) =>
      Effect.gen(function*() {
        const id = SessionId.make()
        const connection = connectionFor(id)
        const hosted = yield* host.open(connection, {
          kind: "streamable-http",
          id,
          principal,
          client: ClientAddress.of(request)
        })
        // A client that does not get the session id can never use the session.
        const orClose = <A>(effect: Effect.Effect<A>) =>
          Effect.onInterrupt(restore(effect), () => hosted.close(peerEnded))
        const exchange = connection.post(initialize, bytes, principal)
        const response = yield* orClose(responses.ofReply(exchange, { "mcp-session-id": id }))
        if (exchange.isRejected) {
          yield* hosted.close({ _tag: "HandshakeFailed", problem: "initialize was rejected" })
          return HttpServerResponse.removeHeader(response, "mcp-session-id")
        }
        yield* orClose(host.remember(hosted, [initialize, JsonRpc.notification("notifications/initialized")]))
        // With a store, a client that got the headers of a stream, with the session id, can resume the stream.
        if (response.body._tag !== "Stream" || store === undefined) {
          onUndelivered(request, () => void fork(hosted.close(peerEnded)))
        }
        return response
      })
    ).pipe(
      Effect.catch((error) => Effect.succeed(HttpResponses.openFailed(error, initialize.id)))
    )

  const post = (received: Omit<HttpGuard.Post, "version">): Effect.Effect<Response, Response> => {
    const message = JsonRpc.classify(received.frame)
    const era = host.sessionless.eraOf(message, received.request.headers)
    return era._tag === "Handshake"
      ? Effect.flatMapEager(
        HttpGuard.declaredVersion(received.request, revisions),
        (version) => postInSession({ ...received, version })
      )
      : postWithoutSession(received, message, era)
  }

  /** Serves a request of a revision without a handshake. It ignores ids of sessions and of events. */
  const postWithoutSession = (
    received: Omit<HttpGuard.Post, "version">,
    message: JsonRpc.Classified,
    era: SessionlessServer.Era
  ): Effect.Effect<Response, Response> =>
    Effect.flatMap(host.health, ({ draining, retryAfterMillis }) =>
      draining
        ? Effect.fail(HttpResponses.shuttingDown(retryAfterMillis, idOf(received.frame)))
        : exchanges.serve(received, message, era, responses))

  const postInSession = (message: HttpGuard.Post): Effect.Effect<Response, Response> => {
    const { bytes, frame, principal, request, version } = message
    if (request.headers["mcp-session-id"] === undefined && InitializeRequest.is(frame)) {
      return bytes <= maxInitializeBytes
        ? open(message, frame)
        : Effect.fail(HttpResponses.initializeTooLarge(frame.id, maxInitializeBytes))
    }
    return Effect.flatMapEager(
      findSession(message, frame),
      ({ connection, hosted }) =>
        Effect.uninterruptibleMask((restore): Effect.Effect<Response, Response> => {
          if (connection.isClosed) return Effect.fail(unknownSession(frame))
          hosted.touch()
          if (version !== undefined) connection.reportMismatch(version)
          const exchange = connection.post(frame, bytes, principal)
          const response = responses.ifDecided(exchange, {})
          if (response !== undefined) return Effect.succeed(response)
          const release = hosted.hold()
          return Effect.ensuring(responses.of(exchange, restore), Effect.sync(release))
        })
    )
  }

  // ===================================================================================================================
  // GET
  // ===================================================================================================================

  /** Returns the name of the stream that this event belongs to. */
  const streamOf = Effect.fnUntraced(function*(
    store: EventStore["Service"],
    { connection, hosted }: Found,
    after: string
  ): Effect.fn.Return<string, Response> {
    const replay = yield* Effect.mapError(
      store.replay(hosted.id, after),
      () => HttpResponses.unavailable("The event store is not available")
    )
    if (replay === undefined) {
      return yield* Effect.fail(HttpResponses.error(400, "Last-Event-ID names no stored event of this session"))
    }
    const { ended, events, stream } = replay
    if (!ended || events.length > 0) return stream
    // 405 makes a client open a new standalone stream: right for one of this host, an endless loop for one of another.
    return yield* Effect.fail(
      connection.hasOpened(stream)
        ? nothingMissed
        : HttpResponses.error(400, "The stream has ended, and there are no events after Last-Event-ID")
    )
  })

  /** Opens the standalone stream, or resumes the stream that `Last-Event-ID` names an event of. */
  const get = Effect.fnUntraced(function*(sender: HttpGuard.Sender): Effect.fn.Return<Response, Response> {
    const { request } = sender
    yield* AcceptHeader.requireEventStream(request)
    const version = yield* HttpGuard.declaredVersion(request, revisions)
    const found = yield* findSession(sender, undefined)
    const { connection, hosted } = found
    const after = request.headers["last-event-id"]
    const stream = after === undefined || store === undefined ? undefined : yield* Effect.acquireUseRelease(
      Effect.sync(() => hosted.hold()),
      () => streamOf(store, found, after),
      (release) => Effect.sync(release)
    )
    // In one step: an interruption happens before there is a body, or closes the body.
    return yield* Effect.suspend((): Effect.Effect<Response, Response> => {
      if (connection.isClosed) return Effect.fail(unknownSession(undefined))
      hosted.touch()
      if (version !== undefined) connection.reportMismatch(version)
      const body = stream === undefined || after === undefined
        ? connection.openStandalone()
        : connection.resume(stream, after)
      if (body === undefined) return Effect.fail(stream === undefined ? hasStandaloneStream : notStored)
      body.onClose(hosted.hold())
      return Effect.succeed(HttpResponses.eventStream(body, {}))
    })
  })

  // ===================================================================================================================
  // DELETE
  // ===================================================================================================================

  const remove: HttpGuard.Route = Effect.fnUntraced(function*(sender) {
    yield* HttpGuard.declaredVersion(sender.request, revisions)
    const { connection, hosted } = yield* findSession(sender, undefined)
    connection.endByClient()
    yield* hosted.close(peerEnded)
    return HttpResponses.empty(204)
  })

  const posting: readonly [string, HttpGuard.Route] = [
    "POST",
    (sender) => Effect.flatMap(guard.readPost(sender), post)
  ]
  const hasSessions = revisions.some((revision) => Revision.isLegacy(revision))
  // A revision without sessions has no standalone stream and nothing to delete.
  return guard.protect(
    new Map<string, HttpGuard.Route>(hasSessions ? [["GET", get], posting, ["DELETE", remove]] : [posting]),
    hasSessions ? undefined : HttpResponses.withoutSessions
  )
})

import { JsonRpc } from "@effect-mcp/protocol"
import type { EventStore } from "@effect-mcp/session/EventStore"
import * as Principal from "@effect-mcp/session/Principal"
import * as SessionHost from "@effect-mcp/session/SessionHost"
import * as Effect from "effect/Effect"
import type { HttpServerRequest } from "effect/http/HttpServerRequest"
import * as HttpServerResponse from "effect/http/HttpServerResponse"
import * as ClientAddress from "../../../shared/ClientAddress.ts"
import * as InitializeRequest from "../../../shared/InitializeRequest.ts"
import type { Admission, Posted, Serve } from "../HttpGuard.ts"
import * as HttpResponses from "../HttpResponses.ts"
import { onUndelivered } from "../Undelivered.ts"
import type { PostResponse } from "./PostResponse.ts"
import { type Options as ConnectionOptions, StreamableHttpServerConnection } from "./StreamableHttpServerConnection.ts"

type Response = HttpServerResponse.HttpServerResponse

const connectionOf = (hosted: SessionHost.Hosted): StreamableHttpServerConnection | undefined =>
  hosted.transport instanceof StreamableHttpServerConnection ? hosted.transport : undefined

const idOf = (frame: unknown): JsonRpc.Request["id"] | undefined => {
  const classified = JsonRpc.classify(frame)
  return classified._tag === "Request" ? classified.message.id : undefined
}

const unknownSession = HttpResponses.refusal(404, "There is no session with this id")

/** Some come back to a stream that ends without an event for as long as they are given one. */
const nothingLeft = HttpResponses.refusal(405, "The stream has ended, and nothing came behind this event", {
  headers: { allow: "POST, DELETE" }
})

const hasStandalone = HttpResponses.refusal(409, "The session has a standalone stream already")

const notStored = HttpResponses.refusal(400, "The stream cannot be resumed: an event of it could not be stored")

/** The same refusal, for whoever sent this frame. */
const withId = (refusal: Response, frame: unknown): Response => {
  const id = idOf(frame)
  if (id === undefined || refusal.body._tag !== "Uint8Array" || refusal.body.text === undefined) return refusal
  const { error } = JSON.parse(refusal.body.text)
  return HttpServerResponse.text(JSON.stringify({ jsonrpc: "2.0", id, error }), {
    status: refusal.status,
    headers: refusal.headers,
    contentType: "application/json"
  })
}

/**
 * What serves the requests that were let in, by their methods, where each client has a session: a POST brings one message, a GET
 * listens, and a DELETE ends the session.
 */
export const make = Effect.fnUntraced(function*(
  admission: Admission,
  responses: PostResponse,
  options: ConnectionOptions & { readonly maxInitializeBytes: number }
): Effect.fn.Return<ReadonlyMap<string, Serve>, never, SessionHost.SessionHost> {
  const host = yield* SessionHost.SessionHost
  const fork = Effect.runForkWith(yield* Effect.context<never>())
  const { maxInitializeBytes, store } = options

  /** The session that a request names, if it is there and belongs to whoever asks; or the answer that says why not. */
  const sessionOf = (
    request: HttpServerRequest,
    principal: Principal.Principal | undefined
  ): Effect.Effect<SessionHost.Hosted, Response> => {
    const id = request.headers["mcp-session-id"]
    if (id === undefined) return Effect.fail(HttpResponses.refusal(400, "The header Mcp-Session-Id is missing"))
    const check = (hosted: SessionHost.Hosted | undefined): Effect.Effect<SessionHost.Hosted, Response> => {
      // It may go on elsewhere.
      if (hosted === undefined) {
        return Effect.flatMap(
          host.health,
          ({ draining, retryAfterMillis }) =>
            Effect.fail(draining ? HttpResponses.leaving(retryAfterMillis) : unknownSession)
        )
      }
      // To anybody else it does not exist.
      return Principal.isSame(hosted.principal, principal) && connectionOf(hosted) !== undefined
        ? Effect.succeed(hosted)
        : Effect.fail(unknownSession)
    }
    const found = host.find(id)
    if (found !== undefined) return check(found)
    return host.restore(id, new StreamableHttpServerConnection(id, options), {
      kind: "streamable-http",
      principal,
      client: ClientAddress.of(request)
    }).pipe(
      Effect.catchTags({
        HostFull: (error) => Effect.fail(HttpResponses.full(error, undefined)),
        TransportError: () => Effect.undefined,
        // The host has logged why.
        SessionStoreError: () => Effect.fail(HttpResponses.unavailable("The session cannot be looked up at the moment"))
      }),
      Effect.flatMap(check)
    )
  }

  /** A client that has no session yet. */
  const open = (
    request: HttpServerRequest,
    initialize: JsonRpc.Request,
    bytes: number,
    principal: Principal.Principal | undefined
  ): Effect.Effect<Response> =>
    Effect.uninterruptibleMask((restore) =>
      Effect.gen(function*() {
        const id = globalThis.crypto.randomUUID()
        const connection = new StreamableHttpServerConnection(id, options)
        const hosted = yield* host.open(connection, {
          kind: "streamable-http",
          id,
          principal,
          client: ClientAddress.of(request)
        })
        // Whoever does not hear of its session cannot come back to it.
        const orLeave = <A>(effect: Effect.Effect<A>) =>
          Effect.onInterrupt(restore(effect), () => hosted.close({ _tag: "PeerEnded", exit: undefined }))
        const exchange = connection.post(initialize, bytes, principal)
        const response = yield* orLeave(responses.replied(exchange, { "mcp-session-id": id }))
        if (exchange.isRefused) {
          // Nor is there anything to come back to without a handshake.
          yield* hosted.close({ _tag: "HandshakeFailed", problem: "initialize was refused" })
          return HttpServerResponse.removeHeader(response, "mcp-session-id")
        }
        yield* orLeave(host.remember(hosted, [initialize, JsonRpc.notification("notifications/initialized")]))
        // With a store, a client that knows its session from the head of a stream may take the stream up again.
        if (response.body._tag !== "Stream" || store === undefined) {
          onUndelivered(request, () => void fork(hosted.close({ _tag: "PeerEnded", exit: undefined })))
        }
        return response
      })
    ).pipe(
      Effect.catch((error) => Effect.succeed(HttpResponses.notOpened(error, initialize.id)))
    )

  const deliver = (
    request: HttpServerRequest,
    principal: Principal.Principal | undefined,
    { bytes, frame, said }: Posted
  ): Effect.Effect<Response, Response> => {
    if (request.headers["mcp-session-id"] === undefined && InitializeRequest.is(frame)) {
      return bytes <= maxInitializeBytes
        ? open(request, frame, bytes, principal)
        : Effect.fail(HttpResponses.longInitialize(frame.id, maxInitializeBytes))
    }
    return Effect.flatMapEager(
      Effect.mapErrorEager(sessionOf(request, principal), (refusal) => withId(refusal, frame)),
      (hosted) =>
        Effect.uninterruptibleMask((restore): Effect.Effect<Response, Response> => {
          const connection = connectionOf(hosted)
          if (connection === undefined || connection.isClosed) return Effect.fail(unknownSession)
          hosted.touch()
          if (said !== undefined) connection.mismatch(said)
          const exchange = connection.post(frame, bytes, principal)
          const answer = responses.known(exchange, {})
          if (answer !== undefined) return Effect.succeed(answer)
          const release = hosted.hold()
          return Effect.ensuring(responses.awaited(exchange, restore), Effect.sync(release))
        })
    )
  }

  const post: Serve = (request, principal) =>
    Effect.flatMap(admission.posted(request), (posted) => deliver(request, principal, posted))

  /** The stream that an event belongs to, to go on with behind it. */
  const streamOf = Effect.fnUntraced(function*(
    store: EventStore["Service"],
    hosted: SessionHost.Hosted,
    after: string
  ): Effect.fn.Return<string, Response> {
    const replay = yield* Effect.mapError(
      store.replay(hosted.id, after),
      () => HttpResponses.unavailable("The events cannot be read at the moment")
    )
    if (replay === undefined) {
      return yield* Effect.fail(HttpResponses.refusal(400, "There is no such event to come back to"))
    }
    const { ended, events, stream } = replay
    // The standalone stream of another host would have its client come back for ever, and hear nothing.
    if (!ended || events.length > 0) return stream
    return yield* Effect.fail(
      connectionOf(hosted)?.hasBegun(stream) === true
        ? nothingLeft
        : HttpResponses.refusal(400, "Nothing comes behind this event: its stream has ended")
    )
  })

  /** A GET: the standalone stream, or any stream behind an event of it. */
  const get = Effect.fnUntraced(function*(
    request: HttpServerRequest,
    principal: Principal.Principal | undefined
  ): Effect.fn.Return<Response, Response> {
    const said = yield* admission.listening(request)
    const hosted = yield* sessionOf(request, principal)
    const after = request.headers["last-event-id"]
    const stream = after === undefined || store === undefined ? undefined : yield* Effect.acquireUseRelease(
      Effect.sync(() => hosted.hold()),
      () => streamOf(store, hosted, after),
      (release) => Effect.sync(release)
    )
    // In one step, so that whoever leaves has not begun or has a reader, which is seen to leave.
    return yield* Effect.suspend((): Effect.Effect<Response, Response> => {
      const connection = connectionOf(hosted)
      if (connection === undefined || connection.isClosed) return Effect.fail(unknownSession)
      hosted.touch()
      if (said !== undefined) connection.mismatch(said)
      const release = hosted.hold()
      const reader = stream === undefined || after === undefined
        ? connection.listen(release)
        : connection.resume(stream, after, release)
      if (reader !== undefined) return Effect.succeed(HttpResponses.events(reader, {}))
      release()
      return Effect.fail(stream === undefined ? hasStandalone : notStored)
    })
  })

  const remove: Serve = Effect.fnUntraced(function*(request, principal) {
    yield* admission.revision(request)
    const hosted = yield* sessionOf(request, principal)
    connectionOf(hosted)?.end()
    yield* hosted.close({ _tag: "PeerEnded", exit: undefined })
    return HttpResponses.empty(204)
  })

  return new Map([["GET", get], ["POST", post], ["DELETE", remove]])
})

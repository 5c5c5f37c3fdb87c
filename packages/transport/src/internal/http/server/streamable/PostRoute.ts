/** POST: a message, in its session or without one. */
import { type CloseReason, JsonRpc, type Revision } from "@effect-mcp/protocol"
import { SessionId } from "@effect-mcp/session/internal"
import type * as SessionHost from "@effect-mcp/session/SessionHost"
import type * as StatelessServer from "@effect-mcp/session/StatelessServer"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type * as Fiber from "effect/Fiber"
import * as HttpServerResponse from "effect/http/HttpServerResponse"
import * as ClientAddress from "../../../shared/ClientAddress.ts"
import * as HttpGuard from "../HttpGuard.ts"
import * as HttpResponses from "../HttpResponses.ts"
import { isDone } from "../isDone.ts"
import { onUndelivered } from "../ResponseDelivery.ts"
import type { ScopeRefusal } from "../ScopeRefusal.ts"
import type { PostResponse } from "./PostResponse.ts"
import { closedSession, type Found, hasMoved, idOf, type SessionLookup } from "./SessionLookup.ts"
import type { StatelessPosts } from "./StatelessPosts.ts"

type Response = HttpServerResponse.HttpServerResponse

/** The close reason of a session that its client has ended or cannot use. */
export const peerEnded: CloseReason.CloseReason = { _tag: "PeerEnded", exit: undefined }

/** The host of the route, and the parts of its server that the route uses. */
export interface PostRouteDependencies {
  readonly host: SessionHost.SessionHostShape
  readonly lookup: SessionLookup
  readonly posts: StatelessPosts
  readonly responses: PostResponse
  readonly scopes: ScopeRefusal
  readonly revisions: ReadonlyArray<Revision.Revision>
  readonly maxInitializeBytes: number
  /** Whether a client can resume the stream of the response to its `initialize`. */
  readonly isStored: boolean
  readonly fork: (effect: Effect.Effect<void>) => Fiber.Fiber<void>
}

/** Makes the route. */
export const make = (dependencies: PostRouteDependencies) => {
  const { fork, host, isStored, lookup, maxInitializeBytes, posts, responses, revisions, scopes } = dependencies

  /** Opens a session with this `initialize` request. */
  const open = (
    received: HttpGuard.Post,
    message: JsonRpc.Classified,
    initialize: JsonRpc.Request
  ): Effect.Effect<Response> =>
    Effect.uninterruptibleMask((restore) =>
      Effect.gen(function*() {
        const { principal, request } = received
        const id = SessionId.make()
        const connection = lookup.connectionFor(id)
        const hosted = yield* host.open(connection, {
          kind: "streamable-http",
          id,
          principal,
          client: ClientAddress.of(request),
          onEpoch: (epoch) => connection.begin(epoch, principal)
        })
        connection.closesBy(hosted)
        // A client that does not get the session id can never use the session.
        const orClose = <A, E>(effect: Effect.Effect<A, E>) =>
          Effect.onInterrupt(restore(effect), () => hosted.close(peerEnded))
        const exchange = connection.post(received, message)
        const response = yield* orClose(responses.ofReply(exchange, received, { "mcp-session-id": id }))
        if (exchange.isRejected) {
          yield* hosted.close({ _tag: "HandshakeFailed", problem: "initialize was rejected" })
          return HttpServerResponse.removeHeader(response, "mcp-session-id")
        }
        yield* orClose(host.remember(hosted, [initialize, JsonRpc.notification("notifications/initialized")]))
        // With a store, a client that got the headers of a stream, with the session id, can resume the stream.
        if (response.body._tag !== "Stream" || !isStored) {
          onUndelivered(request, () => void fork(hosted.close(peerEnded)))
        }
        return response
      })
    ).pipe(
      Effect.catch((error) => Effect.succeed(HttpResponses.openFailed(error, initialize.id)))
    )

  /** Serves a request of a revision without a handshake. It ignores ids of sessions and of events. */
  const postWithoutSession = (
    received: Omit<HttpGuard.Post, "version">,
    message: JsonRpc.Classified,
    era: StatelessServer.Era
  ): Effect.Effect<Response, Response> =>
    Effect.flatMap(host.health, ({ draining, retryAfterMillis }) =>
      draining
        ? Effect.fail(HttpResponses.shuttingDown(retryAfterMillis, idOf(message)))
        : posts.serve(received, message, era, responses))

  /** Waits until the session knows what an answer or a cancellation is about, and serves it only if it still may. */
  const known = (found: Found, message: JsonRpc.Classified): Effect.Effect<Found, Response> => {
    const knows = found.connection.knows(message)
    if (isDone(knows)) return Exit.succeed(found)
    return Effect.flatMap(knows, (isKnown) =>
      isKnown
        ? Effect.flatMap(lookup.ready(found.hosted, message), (isReady) =>
          isReady ? Effect.succeed(found) : Effect.fail(hasMoved(message)))
        : Effect.fail(HttpResponses.unavailable("The requests of the earlier owner of the session are not known yet", {
          id: undefined,
          retryAfterMillis: 1000
        })))
  }

  /** Serves a message of a session, or opens one. */
  const postInSession = (
    received: HttpGuard.Post,
    message: JsonRpc.Classified
  ): Effect.Effect<Response, Response> => {
    const { bytes, request, version } = received
    const isFirst = request.headers["mcp-session-id"] === undefined
    if (isFirst && message._tag === "Request" && message.message.method === "initialize") {
      return bytes <= maxInitializeBytes
        ? open(received, message, message.message)
        : Effect.fail(HttpResponses.initializeTooLarge(message.message.id, maxInitializeBytes))
    }
    const found = lookup.find(received, message)
    return Effect.flatMapEager(
      message._tag === "Request" ? found : Effect.flatMapEager(found, (one) => known(one, message)),
      ({ connection, hosted }) =>
        Effect.uninterruptibleMask((restore): Effect.Effect<Response, Response> => {
          if (connection.isClosed) return Effect.fail(closedSession(connection, message))
          // Before the session receives the message, because a stream could open before the session rejects it.
          const refused = scopes.check(host.stateless, message, received)
          if (refused !== undefined) return Effect.fail(refused)
          hosted.touch()
          if (version !== undefined) connection.reportMismatch(version)
          const exchange = connection.post(received, message)
          const response = responses.ifDecided(exchange, received)
          if (response !== undefined) return Effect.succeed(response)
          const release = hosted.hold()
          return Effect.ensuring(responses.of(exchange, received, restore), Effect.sync(release))
        })
    )
  }

  return (received: Omit<HttpGuard.Post, "version">): Effect.Effect<Response, Response> => {
    const message = JsonRpc.classify(received.frame)
    const era = host.stateless.eraOf(message, received.request.headers)
    return era._tag === "Handshake"
      ? Effect.flatMapEager(
        HttpGuard.declaredVersion(received.request, revisions),
        (version) => postInSession({ ...received, version }, message)
      )
      : postWithoutSession(received, message, era)
  }
}

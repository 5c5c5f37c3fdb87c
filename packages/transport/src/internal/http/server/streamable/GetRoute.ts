/** GET: the standalone stream of a session, or a stream that is resumed. */
import type { Revision } from "@effect-mcp/protocol"
import type { EventStore } from "@effect-mcp/session/EventStore"
import * as Effect from "effect/Effect"
import type * as HttpServerResponse from "effect/http/HttpServerResponse"
import * as AcceptHeader from "../AcceptHeader.ts"
import * as HttpGuard from "../HttpGuard.ts"
import * as HttpResponses from "../HttpResponses.ts"
import type * as StreamExpiry from "../StreamExpiry.ts"
import { closedSession, type Found, hasMoved, type SessionLookup } from "./SessionLookup.ts"

type Response = HttpServerResponse.HttpServerResponse

/** 405, as for a server without streams: some clients reconnect endlessly to a stream that ends without an event. */
const nothingMissed = HttpResponses.error(405, "The stream has ended, and there are no events after this one", {
  headers: { allow: "POST, DELETE" }
})

const hasStandaloneStream = HttpResponses.error(409, "The session already has a standalone SSE stream")

const storeFailed = HttpResponses.unavailable("The event store is not available")

const notStored = HttpResponses.error(400, "The stream cannot be resumed: one of its events could not be stored")

/** Returns the name of the stream that this event belongs to. */
const streamOf = Effect.fnUntraced(function*(
  store: EventStore["Service"],
  { connection, hosted }: Found,
  after: string
): Effect.fn.Return<string, Response> {
  yield* connection.takenOver
  const replay = yield* Effect.mapError(store.replay(hosted.id, after), () => storeFailed)
  if (replay === undefined) {
    return yield* Effect.fail(HttpResponses.error(400, "Last-Event-ID names no stored event of this session"))
  }
  const { ended, events, stream } = replay
  // Without this, the client would resume it again and again, and get neither an event nor an answer.
  if (!ended && connection.isUnended(stream)) return yield* Effect.fail(storeFailed)
  if (!ended || events.length > 0) return stream
  // 405 makes a client open a new standalone stream: right for one of this host, an endless loop for one of another.
  return yield* Effect.fail(
    connection.hasOpened(stream)
      ? nothingMissed
      : HttpResponses.error(400, "The stream has ended, and there are no events after Last-Event-ID")
  )
})

/** Waits until this process may serve the session. One that has closed meanwhile gets its response later. */
const stillReady = (lookup: SessionLookup, { connection, hosted }: Found): Effect.Effect<void, Response> =>
  Effect.flatMap(
    lookup.ready(hosted, undefined),
    (isReady) => isReady || connection.isClosed ? Effect.void : Effect.fail(hasMoved(undefined))
  )

/** Makes the route, which opens the standalone stream, or resumes the stream that `Last-Event-ID` names an event of. */
export const make = (
  lookup: SessionLookup,
  revisions: ReadonlyArray<Revision.Revision>,
  store: EventStore["Service"] | undefined,
  ends: StreamExpiry.StreamExpiry
): HttpGuard.Route =>
  Effect.fnUntraced(function*(sender) {
    const { request } = sender
    yield* AcceptHeader.requireEventStream(request)
    const version = yield* HttpGuard.declaredVersion(request, revisions)
    const found = yield* lookup.find(sender, undefined)
    const { connection, hosted } = found
    const after = request.headers["last-event-id"]
    const stream = after === undefined || store === undefined ? undefined : yield* Effect.acquireUseRelease(
      Effect.sync(() => hosted.hold()),
      // Another process may have taken the session during the wait, and end or continue the stream.
      () => Effect.tap(streamOf(store, found, after), () => stillReady(lookup, found)),
      (release) => Effect.sync(release)
    )
    // In one step: an interruption happens before there is a body, or closes the body.
    return yield* Effect.suspend((): Effect.Effect<Response, Response> => {
      if (connection.isClosed) return Effect.fail(closedSession(connection, undefined))
      hosted.touch()
      if (version !== undefined) connection.reportMismatch(version)
      const body = stream === undefined || after === undefined
        ? connection.openStandalone()
        : connection.resume(stream, after)
      if (body === undefined) return Effect.fail(stream === undefined ? hasStandaloneStream : notStored)
      body.onClose(hosted.hold())
      // The stream of a call that runs goes on.
      if (connection.isStandalone(body)) {
        ends(body, sender.principal)
        hosted.reach()
      }
      return Effect.succeed(HttpResponses.eventStream(body, {}))
    })
  })

/** The contents of resources, read again whenever the server notifies of an update or is connected again. */

import type { Resource } from "@effect-mcp/protocol"
import type * as ClientSession from "@effect-mcp/session/ClientSession"
import type * as RequestError from "@effect-mcp/session/RequestError"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"

type Session = ClientSession.ClientSessionShape

/** Returns whether the error is the end of a session, after which the stream goes on in the next one. */
const isSessionLoss = ({ reason }: RequestError.RequestError): boolean =>
  reason._tag === "Closed" || reason._tag === "OutcomeUnknown" || reason._tag === "SendFailed" ||
  reason._tag === "NotAllowed"

/** The watched resources of one client. Several streams of one resource share its subscription. */
export class WatchedResources {
  /** The number of streams of each resource, in the session that they subscribed in. */
  readonly #watching = new WeakMap<Session, Map<string, number>>()

  /**
   * Streams the contents of a resource in one session: those at the beginning, and those after each update. Updates
   * that arrive while the resource is read count as one. Ends with the session.
   */
  inSession(session: Session, uri: string): Stream.Stream<Resource.ReadResourceResult, RequestError.RequestError> {
    const contents = Stream.unwrap(Effect.gen({ self: this }, function*() {
      // Before the subscription, so that no update is missed.
      const updates = session.notifications("notifications/resources/updated").pipe(
        Stream.filter((update) => update.uri === uri),
        Stream.map(() => uri),
        Stream.buffer({ capacity: 1, strategy: "sliding" })
      )
      yield* Effect.acquireRelease(this.#subscribe(session, uri), () => this.#unsubscribe(session, uri))
      return Stream.mapEffect(
        Stream.concat(Stream.succeed(uri), updates),
        () => session.readResource(uri, { reload: true })
      )
    }))
    return Stream.catchIf(contents, isSessionLoss, () => Stream.empty)
  }

  #subscribe(session: Session, uri: string): Effect.Effect<void, RequestError.RequestError> {
    return Effect.andThen(
      session.subscribeResource(uri),
      Effect.sync(() => {
        const counts = this.#watching.get(session) ?? new Map<string, number>()
        this.#watching.set(session, counts)
        counts.set(uri, (counts.get(uri) ?? 0) + 1)
      })
    )
  }

  #unsubscribe(session: Session, uri: string): Effect.Effect<void> {
    return Effect.suspend(() => {
      const counts = this.#watching.get(session)
      const left = (counts?.get(uri) ?? 0) - 1
      if (left > 0) {
        counts?.set(uri, left)
        return Effect.void
      }
      counts?.delete(uri)
      return Effect.ignore(session.unsubscribeResource(uri))
    })
  }
}

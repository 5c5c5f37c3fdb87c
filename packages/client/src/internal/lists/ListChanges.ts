/** The changes of a server's lists. */

import { Revision } from "@effect-mcp/protocol"
import type * as ClientSession from "@effect-mcp/session/ClientSession"
import * as Effect from "effect/Effect"
import * as PubSub from "effect/PubSub"
import * as Stream from "effect/Stream"

/** A list of which a server notifies its clients when it changes. */
export type ListName = "tools" | "prompts" | "resources"

type Session = ClientSession.ClientSessionShape

/** The names of these lists. */
export const listNames: ReadonlyArray<ListName> = ["tools", "prompts", "resources"]

/**
 * Returns whether a list stays as it is until the client is notified. Without notifications, a server of 2026-07-28
 * states how long its lists are fresh, and the session keeps them. A server of an older revision states nothing.
 */
export const isSteady = ({ profile }: Session, list: ListName): boolean =>
  !Revision.isModern(profile.revision) || profile.capabilities[list]?.listChanged === true

/** Calls a function for each notification of a session. Returns at its end. */
export const follow = (session: Session, changed: (list: ListName) => Effect.Effect<void>): Effect.Effect<void> =>
  Effect.forEach(
    listNames,
    // Streams and not handlers: a handler of the program may be slow, and other notifications wait for it.
    (list) => Stream.runForEach(session.notifications(`notifications/${list}/list_changed`), () => changed(list)),
    { concurrency: "unbounded", discard: true }
  )

/** The followers of the changes. A slow one gets the name of each changed list once. */
export class ListChanges {
  readonly #changes: ReadonlyMap<ListName, PubSub.PubSub<ListName>>

  private constructor(changes: ReadonlyMap<ListName, PubSub.PubSub<ListName>>) {
    this.#changes = changes
  }

  static readonly make: Effect.Effect<ListChanges> = Effect.map(
    // One for each list, so that changes of one do not push out those of another.
    Effect.forEach(listNames, (list) => Effect.map(PubSub.sliding<ListName>(1), (changes) => [list, changes] as const)),
    (changes) => new ListChanges(new Map(changes))
  )

  publish(list: ListName): Effect.Effect<void> {
    const changes = this.#changes.get(list)
    return changes === undefined ? Effect.void : Effect.asVoid(PubSub.publish(changes, list))
  }

  get stream(): Stream.Stream<ListName> {
    return Stream.mergeAll(Array.from(this.#changes.values(), Stream.fromPubSub), {
      concurrency: "unbounded",
      bufferSize: 1
    })
  }
}

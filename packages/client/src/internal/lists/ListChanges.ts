/** The changes of a server's lists. */

import { Revision } from "@effect-mcp/protocol"
import type * as ClientSession from "@effect-mcp/session/ClientSession"
import * as Effect from "effect/Effect"
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
export const follow = (session: Session, changed: (list: ListName) => void): Effect.Effect<void> =>
  Effect.forEach(
    listNames,
    // Streams and not handlers: a handler of the program may be slow, and other notifications wait for it.
    (list) =>
      Stream.runForEach(session.notifications(`notifications/${list}/list_changed`), () =>
        Effect.sync(() => changed(list))),
    { concurrency: "unbounded", discard: true }
  )

/**
 * Sends the notifications that belong to no request: of the changes in `changes.ts`.
 */
import type { ClientProfile } from "@effect-mcp/protocol/Profile"
import type * as RequestError from "@effect-mcp/session/RequestError"
import type * as ServerSession from "@effect-mcp/session/ServerSession"
import * as Effect from "effect/Effect"
import * as Queue from "effect/Queue"
import { type Change, Changes } from "./changes.ts"
import { uriOf } from "./resources.ts"
import * as Roots from "./roots.ts"
import * as Subscriptions from "./subscriptions.ts"

type Notified = Effect.Effect<void, RequestError.RequestError, Roots.Roots | Subscriptions.Subscriptions>

const notifyClient = (
  session: ServerSession.ServerSessionShape,
  client: ClientProfile,
  change: Change
): Notified => {
  switch (change._tag) {
    case "NoteChanged": {
      const uri = uriOf(change.name)
      return Effect.flatMap(
        Subscriptions.has(client, uri),
        (isSubscribed) => isSubscribed ? session.resourceUpdated(uri) : Effect.void
      )
    }
    case "NotesChanged":
      return session.resourceListChanged
    case "PromptsChanged":
      return session.promptListChanged
    case "ToolsChanged":
      return session.toolListChanged
    case "PageVisited":
      return change.client === client ? session.elicitationComplete(change.elicitationId) : Effect.void
    case "RootsChanged":
      return Effect.flatMap(
        Roots.request(client, session.listRoots({ timeout: "5 seconds" })),
        ({ length }) => session.log({ level: "info", logger: "roots", data: `number of roots: ${length}` })
      )
  }
}

/** Notifies a client of a change that concerns it. Does nothing before the handshake. */
export const notify = (session: ServerSession.ServerSessionShape, change: Change): Notified =>
  Effect.flatMap(
    session.state,
    (state) => "profile" in state ? notifyClient(session, state.profile, change) : Effect.void
  )

/** Notifies the client of every change, until it is interrupted. Logs a notification that fails. */
export const run = (
  session: ServerSession.ServerSessionShape
): Effect.Effect<never, never, Changes | Roots.Roots | Subscriptions.Subscriptions> =>
  Effect.flatMap(Changes, Queue.take).pipe(
    Effect.flatMap((change) =>
      Effect.catch(
        notify(session, change),
        ({ message }) => Effect.logWarning(`${change._tag}: could not notify the client: ${message}`)
      )
    ),
    Effect.forever
  )

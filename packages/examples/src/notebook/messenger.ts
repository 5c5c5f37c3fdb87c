/**
 * Tells the client the news.
 */
import type { ClientProfile } from "@effect-mcp/protocol/Profile"
import type * as RequestError from "@effect-mcp/session/RequestError"
import type * as ServerSession from "@effect-mcp/session/ServerSession"
import * as Effect from "effect/Effect"
import * as Queue from "effect/Queue"
import { type Item, News } from "./news.ts"
import * as Places from "./places.ts"
import { uriOf } from "./resources.ts"
import * as Subscriptions from "./subscriptions.ts"

type Told = Effect.Effect<void, RequestError.RequestError, Places.Places | Subscriptions.Subscriptions>

const tellOf = (item: Item, session: ServerSession.ServerSessionShape, client: ClientProfile): Told => {
  switch (item._tag) {
    case "NoteChanged": {
      const uri = uriOf(item.name)
      return Effect.flatMap(
        Subscriptions.has(client, uri),
        (wanted) => wanted ? session.resourceUpdated(uri) : Effect.void
      )
    }
    case "NotesChanged":
      return session.resourceListChanged
    case "PromptsChanged":
      return session.promptListChanged
    case "ToolsChanged":
      return session.toolListChanged
    case "PageVisited":
      return item.client === client ? session.elicitationComplete(item.elicitationId) : Effect.void
    case "PlacesChanged":
      return Effect.flatMap(
        Places.ask(client, session.listRoots({ timeout: "5 seconds" })),
        ({ length }) =>
          session.log({ level: "info", logger: "places", data: `places that the client works in: ${length}` })
      )
  }
}

/**
 * Tells one client one thing, if it is of interest to that client. One that has not introduced itself is told nothing.
 */
export const tell = (session: ServerSession.ServerSessionShape, item: Item): Told =>
  Effect.flatMap(
    session.state,
    (state) => "profile" in state ? tellOf(item, session, state.profile) : Effect.void
  )

/** Goes on for as long as there is a session. What cannot be told is told to the log. */
export const run = (
  session: ServerSession.ServerSessionShape
): Effect.Effect<never, never, News | Places.Places | Subscriptions.Subscriptions> =>
  Effect.flatMap(News, Queue.take).pipe(
    Effect.flatMap((item) =>
      Effect.catch(tell(session, item), (error) => Effect.logWarning(`${item._tag} was not told: ${error.message}`))
    ),
    Effect.forever
  )

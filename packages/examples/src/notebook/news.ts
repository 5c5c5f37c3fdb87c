/**
 * What there is to tell the client that is no answer to anything. Whoever has news puts them here; the program that holds
 * the session passes them on.
 */
import type { ClientProfile } from "@effect-mcp/protocol/Profile"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Queue from "effect/Queue"

/**
 * - `NoteChanged`: a note has another text.
 * - `NotesChanged`, `PromptsChanged`, `ToolsChanged`: there are more of them, or fewer.
 * - `PageVisited`: the user has been where an elicitation of this client asked to go.
 * - `PlacesChanged`: the client has said that its roots are others now.
 */
export type Item =
  | { readonly _tag: "NoteChanged"; readonly name: string }
  | { readonly _tag: "NotesChanged" }
  | { readonly _tag: "PromptsChanged" }
  | { readonly _tag: "ToolsChanged" }
  | { readonly _tag: "PageVisited"; readonly client: ClientProfile; readonly elicitationId: string }
  | { readonly _tag: "PlacesChanged" }

/** The news that have not been passed on yet. */
export class News extends Context.Service<News, Queue.Queue<Item>>()("@effect-mcp/examples/notebook/News") {}

export const layer: Layer.Layer<News> = Layer.effect(News, Queue.unbounded<Item>())

/** Adds an item. */
export const add = (item: Item): Effect.Effect<void, never, News> =>
  Effect.flatMap(News, (news) => Effect.asVoid(Queue.offer(news, item)))

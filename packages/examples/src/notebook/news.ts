/**
 * The notifications for the client that belong to no request. Any part of the notebook adds them here, and the program
 * that holds the session sends them.
 */
import type { ClientProfile } from "@effect-mcp/protocol/Profile"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Queue from "effect/Queue"

/**
 * One notification.
 *
 * - `NoteChanged`: the text of a note changed.
 * - `NotesChanged`, `PromptsChanged`, `ToolsChanged`: a list has more or fewer items.
 * - `PageVisited`: the user visited the URL of an elicitation.
 * - `PlacesChanged`: the roots of the client changed.
 */
export type Item =
  | { readonly _tag: "NoteChanged"; readonly name: string }
  | { readonly _tag: "NotesChanged" }
  | { readonly _tag: "PromptsChanged" }
  | { readonly _tag: "ToolsChanged" }
  | { readonly _tag: "PageVisited"; readonly client: ClientProfile; readonly elicitationId: string }
  | { readonly _tag: "PlacesChanged" }

/** The notifications that are not sent yet. */
export class News extends Context.Service<News, Queue.Queue<Item>>()("@effect-mcp/examples/notebook/News") {}

export const layer: Layer.Layer<News> = Layer.effect(News, Queue.unbounded<Item>())

/** Adds a notification. */
export const add = (item: Item): Effect.Effect<void, never, News> =>
  Effect.flatMap(News, (news) => Effect.asVoid(Queue.offer(news, item)))

/**
 * The changes of which clients are notified. Every part of the notebook adds its changes here. `notifier.ts` sends the
 * notifications.
 */
import type { ClientProfile } from "@effect-mcp/protocol/Profile"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Queue from "effect/Queue"

/**
 * A change.
 *
 * - `NoteChanged`: the text of a note changed.
 * - `NotesChanged`, `PromptsChanged`, `ToolsChanged`: a list has more or fewer items.
 * - `PageVisited`: the user visited the URL of an elicitation.
 * - `RootsChanged`: the roots of the client changed.
 */
export type Change =
  | { readonly _tag: "NoteChanged"; readonly name: string }
  | { readonly _tag: "NotesChanged" }
  | { readonly _tag: "PromptsChanged" }
  | { readonly _tag: "ToolsChanged" }
  | { readonly _tag: "PageVisited"; readonly client: ClientProfile; readonly elicitationId: string }
  | { readonly _tag: "RootsChanged" }

/** The changes that have not been sent yet, oldest first. */
export class Changes extends Context.Service<Changes, Queue.Queue<Change>>()("@effect-mcp/examples/notebook/Changes") {}

export const layer: Layer.Layer<Changes> = Layer.effect(Changes, Queue.unbounded<Change>())

/** Adds a change. */
export const add = (change: Change): Effect.Effect<void, never, Changes> =>
  Effect.flatMap(Changes, (changes) => Effect.asVoid(Queue.offer(changes, change)))

/**
 * The notes, in memory.
 */
import * as Context from "effect/Context"
import * as DateTime from "effect/DateTime"
import * as Effect from "effect/Effect"
import * as HashMap from "effect/HashMap"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Queue from "effect/Queue"
import * as Ref from "effect/Ref"
import { Changes } from "./changes.ts"

export interface Note {
  readonly name: string
  readonly text: string
  /** The time of the last change, in ISO 8601. */
  readonly lastModified: string
}

/** All notes, and the operations on them. */
export class Notes extends Context.Service<Notes, {
  /** All notes, ordered by name. */
  readonly all: Effect.Effect<ReadonlyArray<Note>>
  readonly find: (name: string) => Effect.Effect<Option.Option<Note>>
  /** Writes a new note, or replaces the text of an existing one. */
  readonly write: (name: string, text: string) => Effect.Effect<Note>
  /** Removes a note. Returns false if it does not exist. */
  readonly erase: (name: string) => Effect.Effect<boolean>
}>()("@effect-mcp/examples/notebook/Notes") {}

/** Returns the blanks of a note: words in braces. A note with blanks is also a prompt. */
export const blanksOf = ({ text }: Note): ReadonlyArray<string> => [
  ...new Set(Array.from(text.matchAll(/\{([a-z]+)\}/g), ([, blank = ""]) => blank))
]

const initialNotes: ReadonlyArray<Note> = [
  ["colours", "Red, green and blue."],
  ["groceries", "Bread, milk, coffee; the blue cheese if they have it."],
  ["letter", "Dear {name},\n\nthank you for the {gift}!"],
  ["plan", "Read more, write less, walk by the sea."],
  ["reading", "The Waves. The Sea, the Sea. Blue Nights."],
  ["weather", "Fog in the morning, a blue sky after noon."]
].map(([name = "", text = ""]) => ({ name, text, lastModified: "2025-11-25T00:00:00Z" }))

const byName = (one: Note, other: Note): number => one.name < other.name ? -1 : 1

export const layer: Layer.Layer<Notes, never, Changes> = Layer.effect(
  Notes,
  Effect.gen(function*() {
    const changes = yield* Changes
    const notes = yield* Ref.make(HashMap.fromIterable(initialNotes.map((note) => [note.name, note] as const)))

    /** Replaces, adds or removes a note. Returns whether it existed before. */
    const replace = Effect.fnUntraced(function*(name: string, note: Note | undefined) {
      const before = yield* Ref.modify(notes, (all) => [
        Option.getOrUndefined(HashMap.get(all, name)),
        note === undefined ? HashMap.remove(all, name) : HashMap.set(all, name, note)
      ])
      const blanks = [before, note].map((one) => one === undefined ? "" : blanksOf(one).join())
      if ((before === undefined) !== (note === undefined)) yield* Queue.offer(changes, { _tag: "NotesChanged" })
      if (before !== undefined) yield* Queue.offer(changes, { _tag: "NoteChanged", name })
      if (blanks[0] !== blanks[1]) yield* Queue.offer(changes, { _tag: "PromptsChanged" })
      return before !== undefined
    })

    return {
      all: Effect.map(Ref.get(notes), (all) => HashMap.toValues(all).toSorted(byName)),
      find: (name) => Effect.map(Ref.get(notes), HashMap.get(name)),
      write: Effect.fnUntraced(function*(name, text) {
        const note = { name, text, lastModified: DateTime.formatIso(yield* DateTime.now) }
        yield* replace(name, note)
        return note
      }),
      erase: (name) => replace(name, undefined)
    }
  })
)

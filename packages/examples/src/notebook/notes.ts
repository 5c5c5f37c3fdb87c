/**
 * The notes, in memory.
 */
import * as Context from "effect/Context"
import * as DateTime from "effect/DateTime"
import * as Effect from "effect/Effect"
import * as HashMap from "effect/HashMap"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as PubSub from "effect/PubSub"
import * as Ref from "effect/Ref"
import type * as Scope from "effect/Scope"

export interface Note {
  readonly name: string
  readonly text: string
  /** The time of the last change, in ISO 8601. */
  readonly lastModified: string
}

/** A note that was written or erased. */
export interface Change {
  readonly name: string
  readonly before: Note | undefined
  readonly after: Note | undefined
}

/** All notes, and the operations on them. */
export class Notes extends Context.Service<Notes, {
  /** All notes, ordered by name. */
  readonly all: Effect.Effect<ReadonlyArray<Note>>
  readonly names: Effect.Effect<ReadonlyArray<string>>
  readonly find: (name: string) => Effect.Effect<Option.Option<Note>>
  /** Writes a new note, or replaces the text of an existing one. */
  readonly write: (name: string, text: string) => Effect.Effect<Note>
  /** Removes a note. Returns false if it does not exist. */
  readonly erase: (name: string) => Effect.Effect<boolean>
  readonly changes: PubSub.PubSub<Change>
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

export const layer: Layer.Layer<Notes> = Layer.effect(
  Notes,
  Effect.gen(function*() {
    const changes = yield* PubSub.unbounded<Change>()
    const notes = yield* Ref.make(HashMap.fromIterable(initialNotes.map((note) => [note.name, note] as const)))

    /** Replaces, adds or removes a note. Returns whether it existed before. */
    const replace = Effect.fnUntraced(function*(name: string, after: Note | undefined) {
      const before = yield* Ref.modify(notes, (all) => [
        Option.getOrUndefined(HashMap.get(all, name)),
        after === undefined ? HashMap.remove(all, name) : HashMap.set(all, name, after)
      ])
      yield* PubSub.publish(changes, { name, before, after })
      return before !== undefined
    })

    const all = Effect.map(Ref.get(notes), (all) => HashMap.toValues(all).toSorted(byName))
    return {
      all,
      names: Effect.map(all, (notes) => notes.map(({ name }) => name)),
      find: (name) => Effect.map(Ref.get(notes), HashMap.get(name)),
      write: Effect.fnUntraced(function*(name, text) {
        const note = { name, text, lastModified: DateTime.formatIso(yield* DateTime.now) }
        yield* replace(name, note)
        return note
      }),
      erase: (name) => replace(name, undefined),
      changes
    }
  })
)

/** Runs an effect after each change of a note, one after the other, until the scope closes. */
export const onChange = Effect.fnUntraced(function*<R>(
  react: (change: Change) => Effect.Effect<void, never, R>
): Effect.fn.Return<void, never, Notes | Scope.Scope | R> {
  const { changes } = yield* Notes
  const subscription = yield* PubSub.subscribe(changes)
  yield* Effect.forkScoped(Effect.forever(Effect.flatMap(PubSub.take(subscription), react)))
})

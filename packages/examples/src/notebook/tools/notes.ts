/**
 * Tools that write, show and search notes.
 */
import * as Content from "@effect-mcp/protocol/Content"
import * as RequestContext from "@effect-mcp/session/RequestContext"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import * as Tool from "../../tool.ts"
import * as Media from "../media.ts"
import { Notes } from "../notes.ts"
import * as Resources from "../resources.ts"

/** The name of a note. It becomes a part of a URI, so it must be well-formed Unicode. */
export const Name = Schema.String.check(
  Schema.isPattern(/^[^\p{Cs}\p{Cc}\s][^\p{Cs}\p{Cc}]*$/u),
  Schema.isMaxLength(100)
).annotate({ description: "The note's name" })

/** Returns the note of this name. Fails with a message for the model if it does not exist. */
export const find = Effect.fnUntraced(function*(name: string) {
  const { find } = yield* Notes
  const note = yield* find(name)
  return Option.isSome(note) ? note.value : yield* new Tool.ToolFailure({ message: `There is no note “${name}”` })
})

const write = Tool.make("write", {
  title: "Write",
  description: "Writes a note. Replaces a note of the same name.",
  annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: true, openWorldHint: false },
  icons: [Media.icon("goldenrod")],
  input: Schema.Struct({ name: Name, text: Schema.String.annotate({ description: "The text, as Markdown" }) }),
  run: Effect.fnUntraced(function*({ name, text }) {
    const { write } = yield* Notes
    const note = yield* write(name, text)
    yield* RequestContext.log({ level: "info", logger: "notes", data: { written: name, letters: text.length } })
    return { content: [Content.text(`The note “${name}” is written.`), Resources.link(note)] }
  })
})

const show = Tool.make("show", {
  title: "Show",
  description: "Returns a note as every kind of content: text, image, audio, link and embedded resource.",
  annotations: { readOnlyHint: true, openWorldHint: false },
  input: Schema.Struct({ name: Name }),
  run: Effect.fnUntraced(function*({ name }) {
    const note = yield* find(name)
    return {
      content: [
        { ...Content.text(note.text), annotations: { audience: ["user" as const], priority: 1 } },
        { ...Media.image, annotations: { lastModified: note.lastModified, priority: 0 } },
        Media.audio,
        Resources.link(note),
        { type: "resource" as const, resource: Resources.contents(note), _meta: { "example.com/whole": true } }
      ],
      _meta: { "example.com/shown": name }
    }
  })
})

const Matches = Schema.Struct({
  matches: Schema.Array(Schema.Struct({
    name: Schema.String.annotate({ description: "The note's name" }),
    count: Schema.Int.annotate({ description: "The number of occurrences" })
  }))
})

/** Returns the notes that contain a word, with the number of its occurrences. */
export const matchesOf = Effect.fnUntraced(function*(word: string) {
  const { all } = yield* Notes
  return (yield* all)
    .map(({ name, text }) => ({ name, count: text.toLowerCase().split(word.toLowerCase()).length - 1 }))
    .filter(({ count }) => count > 0)
})

/** The arguments of a search, which a client or the model sends. */
export const Search = Schema.Struct({ word: Schema.NonEmptyString.annotate({ description: "The word to look for" }) })

export const search = Tool.make("search", {
  title: "Search",
  description: "Finds the notes that contain a word.",
  annotations: { readOnlyHint: true, openWorldHint: false },
  input: Search,
  output: Matches,
  run: ({ word }) => Effect.map(matchesOf(word), (matches) => Tool.structured({ matches }))
})

export const tools = [write, show, search]

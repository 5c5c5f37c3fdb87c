/**
 * Tools that write, show and search notes.
 */
import * as Content from "@effect-mcp/protocol/Content"
import * as McpGroup from "@effect-mcp/server/McpGroup"
import * as McpRequest from "@effect-mcp/server/McpRequest"
import * as McpTool from "@effect-mcp/server/McpTool"
import * as Tool from "effect/ai/Tool"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import * as Media from "../media.ts"
import { Notes } from "../notes.ts"
import * as Resources from "../resources.ts"
import * as Hints from "./hints.ts"

/** The name of a note. It becomes a part of a URI, so it must be well-formed Unicode. */
export const Name = Schema.String.check(
  Schema.isPattern(/^[^\p{Cs}\p{Cc}\s][^\p{Cs}\p{Cc}]*$/u),
  Schema.isMaxLength(100)
).annotate({ description: "The note's name" })

/** The failure of a tool whose note does not exist. */
export class NoSuchNote extends Schema.TaggedError<NoSuchNote>()("NoSuchNote", { name: Schema.String }) {
  override get message() {
    return `There is no note “${this.name}”`
  }
}

/** Returns the note of this name. Fails with a message for the model if it does not exist. */
export const find = Effect.fnUntraced(function*(name: string) {
  const { find } = yield* Notes
  const note = yield* find(name)
  return Option.isSome(note) ? note.value : yield* new NoSuchNote({ name })
})

/** Returns the notes that contain a word, with the number of its occurrences. */
export const matchesOf = Effect.fnUntraced(function*(word: string) {
  const { all } = yield* Notes
  return (yield* all)
    .map(({ name, text }) => ({ name, count: text.toLowerCase().split(word.toLowerCase()).length - 1 }))
    .filter(({ count }) => count > 0)
})

/** The search, which a client or its model calls. */
export const Search = Tool.make("search", {
  description: "Finds the notes that contain a word.",
  parameters: Schema.Struct({ word: Schema.NonEmptyString.annotate({ description: "The word to look for" }) }),
  success: Schema.Struct({
    matches: Schema.Array(Schema.Struct({
      name: Schema.String.annotate({ description: "The note's name" }),
      count: Schema.Int.annotate({ description: "The number of occurrences" })
    }))
  })
}).annotateMerge(Hints.reading).annotate(Tool.Title, "Search")

const NoteTools = McpGroup.make(
  "notes",
  Tool.make("write", {
    description: "Writes a note. Replaces a note of the same name.",
    parameters: Schema.Struct({ name: Name, text: Schema.String.annotate({ description: "The text, as Markdown" }) }),
    success: McpTool.Content
  }).annotateMerge(Hints.changing).annotate(Tool.Destructive, true).annotate(Tool.Idempotent, true)
    .annotate(McpTool.Icons, [Media.icon("goldenrod")]).annotate(Tool.Title, "Write"),
  Tool.make("show", {
    description: "Returns a note as every kind of content: text, image, audio, link and embedded resource.",
    parameters: Schema.Struct({ name: Name }),
    success: McpTool.ContentWithMeta,
    failure: NoSuchNote
  }).annotateMerge(Hints.reading).annotate(Tool.Title, "Show"),
  Search
)

export const layer = NoteTools.toLayer((handlers) =>
  handlers
    .tool(
      "write",
      Effect.fnUntraced(function*({ name, text }) {
        const { write } = yield* Notes
        const note = yield* write(name, text)
        yield* McpRequest.log({ level: "info", logger: "notes", data: { written: name, letters: text.length } })
        return [Content.text(`The note “${name}” is written.`), Resources.link(note)]
      })
    )
    .tool(
      "show",
      Effect.fnUntraced(function*({ name }) {
        const note = yield* find(name)
        return {
          content: [
            { ...Content.text(note.text), annotations: { audience: ["user" as const], priority: 1 } },
            { ...Media.image, annotations: { lastModified: note.lastModified, priority: 0 } },
            Media.audio,
            Resources.link(note),
            { ...Content.resource(Resources.contents(note)), _meta: { "example.com/whole": true } }
          ],
          _meta: { "example.com/shown": name }
        }
      })
    )
    .tool("search", ({ word }) => Effect.map(matchesOf(word), (matches) => ({ matches })))
)

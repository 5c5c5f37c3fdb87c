/**
 * The prompts: three that are built in, and one for every note with blanks.
 */
import * as Content from "@effect-mcp/protocol/Content"
import * as McpError from "@effect-mcp/protocol/McpError"
import type * as Prompt from "@effect-mcp/protocol/Prompt"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Media from "./media.ts"
import { blanksOf, type Note, Notes } from "./notes.ts"
import * as Paging from "./paging.ts"
import * as Resources from "./resources.ts"

type Arguments = { readonly [argument: string]: string }

interface Template {
  readonly prompt: Prompt.Prompt
  /** Returns the messages. All required arguments are present. */
  readonly fill: (input: Arguments) => Effect.Effect<Prompt.GetPromptResult, McpError.McpError, Notes>
}

const userMessages = (...content: ReadonlyArray<Content.ContentBlock>): ReadonlyArray<Prompt.PromptMessage> =>
  content.map((block) => ({ role: "user", content: block }))

const findNote = Effect.fnUntraced(function*(name: string | undefined) {
  const { find } = yield* Notes
  const note = yield* find(name ?? "")
  return Option.isSome(note) ? note.value : yield* McpError.invalidParams(`There is no note “${name}”`)
})

const noteArgument = (name: string, description: string): Prompt.PromptArgument => ({
  name,
  title: "Note",
  description,
  required: true
})

/** The ways in which a note can be summarized. */
export const styles = ["briefly", "as a haiku", "as a list"]

const builtIn: ReadonlyArray<Template> = [
  {
    prompt: {
      name: "compare",
      title: "Compare two notes",
      description: "Asks what two notes have in common, and links to both",
      arguments: [noteArgument("first", "The first note"), noteArgument("second", "The second note")]
    },
    fill: ({ first, second }) =>
      Effect.map(Effect.all([findNote(first), findNote(second)]), ([one, other]) => ({
        messages: userMessages(
          Content.text("What do these two notes have in common?"),
          Resources.link(one),
          Resources.link(other)
        )
      }))
  },
  {
    prompt: {
      name: "illustrate",
      title: "Illustrate a note",
      description: "Asks for pictures and sounds that go with a note",
      arguments: [noteArgument("note", "The note to illustrate")]
    },
    fill: (input) =>
      Effect.map(findNote(input["note"]), ({ text }) => ({
        messages: [
          ...userMessages(
            Content.text(`Which pictures and sounds go with this? ${text}`),
            { ...Media.image, annotations: { audience: ["assistant"], priority: 0.2 } },
            Media.audio
          ),
          { role: "assistant", content: Content.text("More like these:") }
        ]
      }))
  },
  {
    prompt: {
      name: "summarize",
      title: "Summarize a note",
      description: "Asks for a summary, and contains the note",
      arguments: [
        noteArgument("note", "The note to summarize"),
        { name: "style", title: "Style", description: `The style, such as “${styles[0]}”`, required: false }
      ],
      icons: [Media.icon("steelblue")],
      _meta: { "example.com/styles": styles.length }
    },
    fill: (input) =>
      Effect.map(findNote(input["note"]), (note) => ({
        description: `A summary of the note “${note.name}”`,
        messages: userMessages(
          Content.text(`Summarize this note ${input["style"] ?? "in your own words"}.`),
          { type: "resource", resource: Resources.contents(note), annotations: { audience: ["assistant"] } }
        ),
        _meta: { "example.com/from": "notebook" }
      }))
  }
]

/** Returns the prompt of a note with blanks. */
const fromNote = (note: Note): Template => ({
  prompt: {
    name: note.name,
    title: `The note “${note.name}”, filled in`,
    arguments: blanksOf(note).map((name) => ({ name, required: true }))
  },
  fill: (input) =>
    Effect.succeed({
      messages: userMessages(Content.text(note.text.replaceAll(/\{([a-z]+)\}/g, (blank, name) => input[name] ?? blank)))
    })
})

/** All prompts, ordered by name. A built-in prompt hides a note of the same name. */
const all = Effect.gen(function*() {
  const { all } = yield* Notes
  const builtInNames = new Set(builtIn.map(({ prompt }) => prompt.name))
  const notes = (yield* all).filter((note) => blanksOf(note).length > 0 && !builtInNames.has(note.name))
  return [...builtIn, ...notes.map(fromNote)].toSorted((one, other) => one.prompt.name < other.prompt.name ? -1 : 1)
})

/** Returns the prompt of this name. Fails if it does not exist (PRM-03). */
export const find = Effect.fnUntraced(function*(name: string) {
  const template = (yield* all).find(({ prompt }) => prompt.name === name)
  return template ?? (yield* McpError.invalidParams(`Unknown prompt: ${name}`))
})

export const handlers = {
  "prompts/list": Effect.fnUntraced(function*({ cursor }: { readonly cursor?: string }) {
    const { items, rest } = yield* Paging.page(yield* all, ({ prompt }) => prompt.name, cursor)
    return { prompts: items.map(({ prompt }) => prompt), ...rest }
  }),
  "prompts/get": Effect.fnUntraced(function*({ arguments: input = {}, name }: Prompt.GetPromptParams) {
    const { fill, prompt } = yield* find(name)
    const missing = prompt.arguments?.find(({ name, required }) => required === true && input[name] === undefined)
    return missing === undefined
      ? yield* fill(input)
      : yield* McpError.invalidParams(`Prompt ${name} needs the argument ${missing.name}`)
  })
}

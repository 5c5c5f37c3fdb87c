/**
 * The prompts: three that are built in, and one for every note with blanks.
 */
import * as Content from "@effect-mcp/protocol/Content"
import * as McpError from "@effect-mcp/protocol/McpError"
import type * as Prompt from "@effect-mcp/protocol/Prompt"
import * as McpGroup from "@effect-mcp/server/McpGroup"
import * as McpPrompt from "@effect-mcp/server/McpPrompt"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import * as Scope from "effect/Scope"
import * as Media from "./media.ts"
import { blanksOf, Notes, onChange } from "./notes.ts"
import * as Resources from "./resources.ts"

const noteArgument = (description: string) => Schema.String.annotate({ title: "Note", description })

/** The ways in which a note can be summarized. */
const styles = ["briefly", "as a haiku", "as a list"] as const

const BuiltIn = McpGroup.make(
  "prompts",
  McpPrompt.make("compare", {
    title: "Compare two notes",
    description: "Asks what two notes have in common, and links to both",
    arguments: { first: noteArgument("The first note"), second: noteArgument("The second note") }
  }),
  McpPrompt.make("illustrate", {
    title: "Illustrate a note",
    description: "Asks for pictures and sounds that go with a note",
    arguments: { note: noteArgument("The note to illustrate") }
  }),
  McpPrompt.make("summarize", {
    title: "Summarize a note",
    description: "Asks for a summary, and contains the note",
    arguments: {
      note: noteArgument("The note to summarize"),
      style: Schema.optionalKey(
        Schema.Literals(styles).annotate({ title: "Style", description: `The style, such as “${styles[0]}”` })
      )
    },
    icons: [Media.icon("steelblue")],
    meta: { "example.com/styles": styles.length }
  })
)

const userMessages = (...content: ReadonlyArray<Content.ContentBlock>): ReadonlyArray<Prompt.PromptMessage> =>
  content.map((block) => ({ role: "user", content: block }))

const builtIn = BuiltIn.toLayer(Effect.fnUntraced(function*(handlers) {
  const notes = yield* Notes
  const find = Effect.fnUntraced(function*(name: string) {
    const note = yield* notes.find(name)
    return Option.isSome(note) ? note.value : yield* McpError.invalidParams(`There is no note “${name}”`)
  })
  /** Completes the name of a note, but not that of the other one: to compare a note with itself is useless. */
  const otherThan = (other: string) => (_: string, chosen: { readonly [argument: string]: string }) =>
    Effect.map(notes.names, (names) => names.filter((name) => name !== chosen[other]))
  return handlers
    .prompt(
      "compare",
      ({ first, second }) =>
        Effect.map(Effect.all([find(first), find(second)]), ([one, other]) =>
          userMessages(
            Content.text("What do these two notes have in common?"),
            Resources.link(one),
            Resources.link(other)
          )),
      { complete: { first: otherThan("second"), second: otherThan("first") } }
    )
    .prompt("illustrate", ({ note }) =>
      Effect.map(find(note), ({ text }) => [
        ...userMessages(
          Content.text(`Which pictures and sounds go with this? ${text}`),
          { ...Media.image, annotations: { audience: ["assistant"], priority: 0.2 } },
          Media.audio
        ),
        { role: "assistant" as const, content: Content.text("More like these:") }
      ]), { complete: { note: () => notes.names } })
    .prompt("summarize", ({ note, style = "in your own words" }) =>
      Effect.map(find(note), (found) => ({
        description: `A summary of the note “${note}”`,
        messages: userMessages(
          Content.text(`Summarize this note ${style}.`),
          { type: "resource", resource: Resources.contents(found), annotations: { audience: ["assistant"] } }
        ),
        _meta: { "example.com/from": "notebook" }
      })), { complete: { note: () => notes.names } })
}))

/** A group with the prompt of a note with blanks. The text of the prompt is that of the note. */
const fromNote = (name: string, blanks: ReadonlyArray<string>) =>
  McpGroup.make(
    `note ${name}`,
    McpPrompt.make(name, {
      title: `The note “${name}”, filled in`,
      arguments: Object.fromEntries(blanks.map((blank) => [blank, Schema.String]))
    })
  ).toLayer(Effect.fnUntraced(function*(handlers) {
    const { find } = yield* Notes
    return handlers.prompt(name, (input) =>
      Effect.map(find(name), (note) => {
        const text = Option.match(note, { onNone: () => "", onSome: ({ text }) => text })
        return text.replaceAll(/\{([a-z]+)\}/g, (blank, word) => input[word] ?? blank)
      }))
  }))

const builtInNames: ReadonlySet<string> = new Set(BuiltIn.members.map(({ name }) => name))

/** The prompts of notes. They come and go with the blanks of the notes. A built-in prompt hides a note of its name. */
const fromNotes = Layer.effectDiscard(Effect.gen(function*() {
  const { all } = yield* Notes
  const scope = yield* Effect.scope
  const scopes = new Map<string, Scope.Closeable>()
  const renew = Effect.fnUntraced(function*(name: string, blanks: ReadonlyArray<string>) {
    const previous = scopes.get(name)
    if (previous !== undefined) yield* Scope.close(previous, Exit.void)
    scopes.delete(name)
    if (blanks.length === 0 || builtInNames.has(name)) return
    const own = yield* Scope.fork(scope)
    scopes.set(name, own)
    yield* Layer.buildWithScope(fromNote(name, blanks), own)
  })
  for (const note of yield* all) yield* renew(note.name, blanksOf(note))
  yield* onChange(({ after, before, name }) => {
    const [previous, blanks] = [before, after].map((note) => note === undefined ? [] : blanksOf(note))
    return previous?.join() === blanks?.join() ? Effect.void : renew(name, blanks ?? [])
  })
}))

export const layer = Layer.merge(builtIn, fromNotes)

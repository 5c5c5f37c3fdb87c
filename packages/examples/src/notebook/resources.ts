/**
 * The resources: every note, the template of their URIs, and the cover of the notebook.
 */
import type * as Content from "@effect-mcp/protocol/Content"
import * as McpError from "@effect-mcp/protocol/McpError"
import type * as Resource from "@effect-mcp/protocol/Resource"
import * as McpGroup from "@effect-mcp/server/McpGroup"
import * as McpResource from "@effect-mcp/server/McpResource"
import { McpServer } from "@effect-mcp/server/McpServer"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Media from "./media.ts"
import { type Note, Notes, onChange } from "./notes.ts"

const mimeType = "text/markdown"

const NoteResource = McpResource.template("note", {
  uri: "note:///{name}",
  title: "A note",
  description: "A note by its name",
  mimeType,
  icons: [Media.icon("goldenrod")],
  annotations: { audience: ["user"], priority: 1 },
  meta: { "example.com/writable": true }
})

const Cover = McpResource.make("cover", {
  uri: "notebook:///cover.png",
  title: "The cover",
  description: "The cover of the notebook",
  mimeType: Media.image.mimeType
})

export const uriOf = (name: string): string => NoteResource.uriTemplate.expand({ name })

const sizeOf = (text: string): number => new TextEncoder().encode(text).length

const meta = ({ text }: Note) => ({ "example.com/letters": text.length })

/** Returns what clients learn about a note without reading it. */
const describe = (note: Note): McpResource.ResourceDescription & { readonly name: string; readonly size: number } => ({
  name: note.name,
  title: `The note “${note.name}”`,
  description: note.text.split("\n", 1).join(),
  mimeType,
  size: sizeOf(note.text),
  icons: [Media.icon("goldenrod")],
  annotations: { audience: ["user", "assistant"], priority: 0.5, lastModified: note.lastModified }
})

/** Returns a note with its text. */
export const contents = ({ lastModified, name, text }: Note): Resource.ResourceContents => ({
  uri: uriOf(name),
  mimeType,
  text,
  _meta: { "example.com/lastModified": lastModified }
})

/** Returns a link to a note, without its text. */
export const link = (note: Note): Content.ResourceLink => ({
  type: "resource_link",
  uri: uriOf(note.name),
  ...describe(note),
  _meta: meta(note)
})

export const layer = McpGroup.make("resources", NoteResource, Cover).toLayer(
  Effect.fnUntraced(function*(handlers) {
    const { all, find, names } = yield* Notes
    const server = yield* McpServer
    yield* onChange(({ after, before, name }) =>
      before === undefined || after === undefined
        ? Effect.andThen(server.resourceUpdated(uriOf(name)), server.listChanged("resources"))
        : server.resourceUpdated(uriOf(name))
    )
    return handlers
      .resource("cover", Effect.succeed([{ uri: Cover.uri, mimeType: Media.image.mimeType, blob: Media.pixel }]))
      .template("note", ({ name }, uri) =>
        Effect.flatMap(
          find(name),
          Option.match({
            onNone: () => Effect.fail(McpError.resourceNotFound(uri)),
            onSome: (note) => Effect.succeed({ contents: [contents(note)], _meta: { "example.com/from": "notebook" } })
          })
        ), {
        list: Effect.map(
          all,
          (notes) => notes.map((note) => ({ ...describe(note), parameters: { name: note.name }, meta: meta(note) }))
        ),
        complete: { name: () => names },
        subscribable: ({ name }) => Effect.map(find(name), Option.isSome)
      })
  })
)

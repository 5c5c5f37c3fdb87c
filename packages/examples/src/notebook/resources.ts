/**
 * The resources: every note, the template of their URIs, and the cover of the notebook.
 */
import type * as Content from "@effect-mcp/protocol/Content"
import * as ErrorCode from "@effect-mcp/protocol/ErrorCode"
import * as McpError from "@effect-mcp/protocol/McpError"
import type * as Resource from "@effect-mcp/protocol/Resource"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Media from "./media.ts"
import { type Note, Notes } from "./notes.ts"
import * as Paging from "./paging.ts"
import * as Subscriptions from "./subscriptions.ts"

const prefix = "note:///"

export const uriTemplate = `${prefix}{name}`

export const uriOf = (name: string): string => prefix + encodeURIComponent(name)

const nameOf = (uri: string): string | undefined => {
  if (!uri.startsWith(prefix)) return undefined
  try {
    return decodeURIComponent(uri.slice(prefix.length))
  } catch {
    return undefined
  }
}

const mimeType = "text/markdown"

const sizeOf = (text: string): number => new TextEncoder().encode(text).length

/** Returns the entry of a note in the list of resources. */
export const describe = ({ lastModified, name, text }: Note): Resource.Resource => ({
  uri: uriOf(name),
  name,
  title: `The note “${name}”`,
  description: text.split("\n", 1).join(),
  mimeType,
  size: sizeOf(text),
  icons: [Media.icon("goldenrod")],
  annotations: { audience: ["user", "assistant"], priority: 0.5, lastModified },
  _meta: { "example.com/letters": text.length }
})

/** Returns a note with its text. */
export const contents = ({ lastModified, name, text }: Note): Resource.ResourceContents => ({
  uri: uriOf(name),
  mimeType,
  text,
  _meta: { "example.com/lastModified": lastModified }
})

/** Returns a link to a note, without its text. */
export const link = (note: Note): Content.ResourceLink => ({ type: "resource_link", ...describe(note) })

const cover: Resource.Resource = {
  uri: "notebook:///cover.png",
  name: "cover",
  title: "The cover",
  description: "The cover of the notebook",
  mimeType: "image/png"
}

const template: Resource.ResourceTemplate = {
  uriTemplate,
  name: "note",
  title: "A note",
  description: "A note by its name",
  mimeType,
  icons: [Media.icon("goldenrod")],
  annotations: { audience: ["user"], priority: 1 },
  _meta: { "example.com/writable": true }
}

const notFound = (uri: string) =>
  new McpError.McpError({ code: ErrorCode.ResourceNotFound, message: `Resource not found: ${uri}`, data: { uri } })

/** Returns a resource. Fails if it does not exist (RES-05). */
const read = Effect.fnUntraced(function*(uri: string) {
  if (uri === cover.uri) return { uri, mimeType: Media.image.mimeType, blob: Media.pixel }
  const { find } = yield* Notes
  const name = nameOf(uri)
  const note = name === undefined ? Option.none<Note>() : yield* find(name)
  return Option.isSome(note) ? contents(note.value) : yield* notFound(uri)
})

const keyOf = ({ name, uri }: Resource.Resource) => uri === cover.uri ? " cover" : name

export const handlers = {
  "resources/list": Effect.fnUntraced(function*({ cursor }: { readonly cursor?: string }) {
    const { all } = yield* Notes
    const { items, rest } = yield* Paging.page([cover, ...(yield* all).map(describe)], keyOf, cursor)
    return { resources: items, ...rest }
  }),
  "resources/templates/list": Effect.fnUntraced(function*({ cursor }: { readonly cursor?: string }) {
    const { items, rest } = yield* Paging.page([template], ({ name }) => name, cursor)
    return { resourceTemplates: items, ...rest }
  }),
  "resources/read": ({ uri }: Resource.ResourceParams) =>
    Effect.map(read(uri), (contents) => ({ contents: [contents], _meta: { "example.com/from": "notebook" } })),
  "resources/subscribe": ({ uri }: Resource.ResourceParams) =>
    Effect.as(Effect.andThen(read(uri), Subscriptions.add(uri)), {}),
  "resources/unsubscribe": ({ uri }: Resource.ResourceParams) => Effect.as(Subscriptions.remove(uri), {})
}

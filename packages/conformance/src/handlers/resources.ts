/** Resources: text, binary, one for subscriptions, and a template. */
import * as ErrorCode from "@effect-mcp/protocol/ErrorCode"
import * as McpError from "@effect-mcp/protocol/McpError"
import type * as Resource from "@effect-mcp/protocol/Resource"
import * as Effect from "effect/Effect"
import * as Media from "./media.ts"

interface Readable {
  readonly resource: Resource.Resource
  readonly contents: Resource.ResourceContents
}

const readable = (
  resource: Resource.Resource & { readonly mimeType: string },
  contents: { readonly text: string } | { readonly blob: string }
): Readable => ({ resource, contents: { uri: resource.uri, mimeType: resource.mimeType, ...contents } })

const resources = [
  readable({
    uri: "test://static-text",
    name: "static-text",
    description: "A constant text",
    mimeType: "text/plain"
  }, { text: "This is the content of the static text resource." }),
  readable({
    uri: "test://static-binary",
    name: "static-binary",
    description: "A constant image",
    mimeType: Media.image.mimeType
  }, { blob: Media.image.data }),
  readable({
    uri: "test://watched-resource",
    name: "watched-resource",
    description: "A text for subscriptions",
    mimeType: "text/plain"
  }, { text: "Watched resource content" })
]

const template: Resource.ResourceTemplate = {
  uriTemplate: "test://template/{id}/data",
  name: "template",
  description: "A resource for any id",
  mimeType: "application/json"
}

/** Returns the id in a URI that matches the template. */
const idOf = (uri: string): string | undefined => /^test:\/\/template\/([^/]+)\/data$/.exec(uri)?.[1]

const filled = (uri: string, id: string): Resource.ResourceContents => ({
  uri,
  mimeType: "application/json",
  text: JSON.stringify({ id, templateTest: true, data: `Data for ID: ${id}` })
})

/** Reads a resource. Fails if there is none (RES-05). */
const read = (uri: string): Effect.Effect<Resource.ResourceContents, McpError.McpError> => {
  const id = idOf(uri)
  const contents = id === undefined ? resources.find(({ resource }) => resource.uri === uri)?.contents : filled(uri, id)
  return contents === undefined
    ? Effect.fail(
      new McpError.McpError({ code: ErrorCode.ResourceNotFound, message: `Resource not found: ${uri}`, data: { uri } })
    )
    : Effect.succeed(contents)
}

const onOnePage = <A>(cursor: string | undefined, page: A): Effect.Effect<A, McpError.McpError> =>
  cursor === undefined ? Effect.succeed(page) : Effect.fail(McpError.invalidParams(`Unknown cursor: ${cursor}`))

export const handlers = {
  "resources/list": ({ cursor }: { readonly cursor?: string }) =>
    onOnePage(cursor, { resources: resources.map(({ resource }) => resource) }),
  "resources/templates/list": ({ cursor }: { readonly cursor?: string }) =>
    onOnePage(cursor, { resourceTemplates: [template] }),
  "resources/read": ({ uri }: Resource.ResourceParams) =>
    Effect.map(read(uri), (contents) => ({ contents: [contents] })),
  // The resources are constant, so subscriptions need no record.
  "resources/subscribe": ({ uri }: Resource.ResourceParams) => Effect.as(read(uri), {}),
  "resources/unsubscribe": ({ uri }: Resource.ResourceParams) => Effect.as(read(uri), {})
}

/**
 * Content blocks of tool results, prompts and sampling messages.
 *
 * @stability unstable
 */
import * as Base64 from "effect/encoding/Base64"
import * as Schema from "effect/Schema"
import { Annotations } from "./Annotations.ts"
import { resourceMembers } from "./internal/resourceMembers.ts"
import { Meta } from "./Meta.ts"
import { type Resource, ResourceContents } from "./Resource.ts"

const annotated = { annotations: Schema.optionalKey(Annotations), _meta: Schema.optionalKey(Meta) }

/**
 * A text block.
 *
 * @category models
 */
export interface TextContent {
  readonly type: "text"
  readonly text: string
  readonly annotations?: Annotations
  readonly _meta?: Meta
}

export const TextContent: Schema.Codec<TextContent> = Schema.Struct({
  type: Schema.Literal("text"),
  text: Schema.String,
  ...annotated
})

/**
 * An image block; `data` is base64.
 *
 * @category models
 */
export interface ImageContent {
  readonly type: "image"
  readonly data: string
  readonly mimeType: string
  readonly annotations?: Annotations
  readonly _meta?: Meta
}

export const ImageContent: Schema.Codec<ImageContent> = Schema.Struct({
  type: Schema.Literal("image"),
  data: Schema.String,
  mimeType: Schema.String,
  ...annotated
})

/**
 * An audio block; `data` is base64.
 *
 * @category models
 */
export interface AudioContent {
  readonly type: "audio"
  readonly data: string
  readonly mimeType: string
  readonly annotations?: Annotations
  readonly _meta?: Meta
}

export const AudioContent: Schema.Codec<AudioContent> = Schema.Struct({
  type: Schema.Literal("audio"),
  data: Schema.String,
  mimeType: Schema.String,
  ...annotated
})

/**
 * A link to a resource that the client can read from the server.
 *
 * @category models
 */
export interface ResourceLink extends Resource {
  readonly type: "resource_link"
}

export const ResourceLink: Schema.Codec<ResourceLink> = Schema.Struct({
  type: Schema.Literal("resource_link"),
  ...resourceMembers
})

/**
 * A resource with its contents.
 *
 * @category models
 */
export interface EmbeddedResource {
  readonly type: "resource"
  readonly resource: ResourceContents
  readonly annotations?: Annotations
  readonly _meta?: Meta
}

export const EmbeddedResource: Schema.Codec<EmbeddedResource> = Schema.Struct({
  type: Schema.Literal("resource"),
  resource: ResourceContents,
  ...annotated
})

/**
 * Any content block.
 *
 * @category models
 */
export type ContentBlock = TextContent | ImageContent | AudioContent | ResourceLink | EmbeddedResource

/**
 * The schema of a {@link ContentBlock}.
 *
 * @category schemas
 */
export const ContentBlock: Schema.Codec<ContentBlock> = Schema.Union([
  TextContent,
  ImageContent,
  AudioContent,
  ResourceLink,
  EmbeddedResource
])

/**
 * Creates a text block.
 *
 * @example
 * ```ts
 * import { Content } from "@effect-mcp/protocol"
 *
 * export const answer = Content.text("42") // => { type: "text", text: "42" }
 * ```
 *
 * @category constructors
 */
export const text = (text: string): TextContent => ({ type: "text", text })

const base64 = (data: Uint8Array | string): string => typeof data === "string" ? data : Base64.encode(data)

/**
 * Creates an image block from bytes, or from text that is base64 already.
 *
 * @example
 * ```ts
 * import { Content } from "@effect-mcp/protocol"
 *
 * export const pixel = Content.image(new Uint8Array([0x89, 0x50, 0x4e, 0x47]), "image/png")
 * // => { type: "image", data: "iVBORw==", mimeType: "image/png" }
 * ```
 *
 * @category constructors
 */
export const image = (data: Uint8Array | string, mimeType: string): ImageContent => ({
  type: "image",
  data: base64(data),
  mimeType
})

/**
 * Creates an audio block from bytes, or from text that is base64 already.
 *
 * @example
 * ```ts
 * import { Content } from "@effect-mcp/protocol"
 *
 * export const silence = Content.audio("UklGRg==", "audio/wav")
 * // => { type: "audio", data: "UklGRg==", mimeType: "audio/wav" }
 * ```
 *
 * @category constructors
 */
export const audio = (data: Uint8Array | string, mimeType: string): AudioContent => ({
  type: "audio",
  data: base64(data),
  mimeType
})

/**
 * Creates a block with the contents of a resource, which `Resource.text` and `Resource.blob` create.
 *
 * @example
 * ```ts
 * import { Content, Resource } from "@effect-mcp/protocol"
 *
 * export const readme = Content.resource(Resource.text("file:///README.md", "# Notes", "text/markdown"))
 * // => { type: "resource", resource: { uri: "file:///README.md", text: "# Notes", mimeType: "text/markdown" } }
 * ```
 *
 * @category constructors
 */
export const resource = (contents: ResourceContents): EmbeddedResource => ({ type: "resource", resource: contents })

/**
 * Creates a link to a resource that the client can read.
 *
 * @example
 * ```ts
 * import { Content } from "@effect-mcp/protocol"
 *
 * export const readme = Content.link({ uri: "file:///README.md", name: "README" })
 * // => { type: "resource_link", uri: "file:///README.md", name: "README" }
 * ```
 *
 * @category constructors
 */
export const link = (target: Resource): ResourceLink => ({ type: "resource_link", ...target })

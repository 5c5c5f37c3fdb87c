/**
 * Blocks of content: what tools, prompts and models speak in.
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"
import { Annotations } from "./Annotations.ts"
import { resourceMembers } from "./internal/resourceMembers.ts"
import { Meta } from "./Meta.ts"
import { type Resource, ResourceContents } from "./Resource.ts"

const annotated = { annotations: Schema.optionalKey(Annotations), _meta: Schema.optionalKey(Meta) }

/**
 * Text.
 *
 * @category models
 * @since 0.1.0
 */
export interface TextContent {
  readonly type: "text"
  readonly text: string
  readonly annotations?: Annotations
  readonly _meta?: Meta
}

/**
 * The schema of {@link TextContent}.
 *
 * @category schemas
 * @since 0.1.0
 */
export const TextContent: Schema.Codec<TextContent> = Schema.Struct({
  type: Schema.Literal("text"),
  text: Schema.String,
  ...annotated
})

/**
 * An image; `data` is base64.
 *
 * @category models
 * @since 0.1.0
 */
export interface ImageContent {
  readonly type: "image"
  readonly data: string
  readonly mimeType: string
  readonly annotations?: Annotations
  readonly _meta?: Meta
}

/**
 * The schema of {@link ImageContent}.
 *
 * @category schemas
 * @since 0.1.0
 */
export const ImageContent: Schema.Codec<ImageContent> = Schema.Struct({
  type: Schema.Literal("image"),
  data: Schema.String,
  mimeType: Schema.String,
  ...annotated
})

/**
 * Sound; `data` is base64.
 *
 * @category models
 * @since 0.1.0
 */
export interface AudioContent {
  readonly type: "audio"
  readonly data: string
  readonly mimeType: string
  readonly annotations?: Annotations
  readonly _meta?: Meta
}

/**
 * The schema of {@link AudioContent}.
 *
 * @category schemas
 * @since 0.1.0
 */
export const AudioContent: Schema.Codec<AudioContent> = Schema.Struct({
  type: Schema.Literal("audio"),
  data: Schema.String,
  mimeType: Schema.String,
  ...annotated
})

/**
 * A resource that can be read from the server, named but not included.
 *
 * @category models
 * @since 0.1.0
 */
export interface ResourceLink extends Resource {
  readonly type: "resource_link"
}

/**
 * The schema of {@link ResourceLink}.
 *
 * @category schemas
 * @since 0.1.0
 */
export const ResourceLink: Schema.Codec<ResourceLink> = Schema.Struct({
  type: Schema.Literal("resource_link"),
  ...resourceMembers
})

/**
 * A resource included in full.
 *
 * @category models
 * @since 0.1.0
 */
export interface EmbeddedResource {
  readonly type: "resource"
  readonly resource: ResourceContents
  readonly annotations?: Annotations
  readonly _meta?: Meta
}

/**
 * The schema of {@link EmbeddedResource}.
 *
 * @category schemas
 * @since 0.1.0
 */
export const EmbeddedResource: Schema.Codec<EmbeddedResource> = Schema.Struct({
  type: Schema.Literal("resource"),
  resource: ResourceContents,
  ...annotated
})

/**
 * Any block of content.
 *
 * @category models
 * @since 0.1.0
 */
export type ContentBlock = TextContent | ImageContent | AudioContent | ResourceLink | EmbeddedResource

/**
 * The schema of a {@link ContentBlock}.
 *
 * @category schemas
 * @since 0.1.0
 */
export const ContentBlock: Schema.Codec<ContentBlock> = Schema.Union([
  TextContent,
  ImageContent,
  AudioContent,
  ResourceLink,
  EmbeddedResource
])

/**
 * A block of text.
 *
 * @example
 * ```ts
 * import { Content } from "@effect-mcp/protocol"
 *
 * export const answer = Content.text("42") // => { type: "text", text: "42" }
 * ```
 *
 * @category constructors
 * @since 0.1.0
 */
export const text = (text: string): TextContent => ({ type: "text", text })

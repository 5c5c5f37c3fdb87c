/**
 * Blocks of content: what tools, prompts and models speak in.
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"
import { Icon } from "./Implementation.ts"
import { Meta } from "./Meta.ts"

/**
 * For whom a piece of content is meant, how important it is (0 to 1), and when it last changed (ISO 8601).
 *
 * @category models
 * @since 0.1.0
 */
export interface Annotations {
  readonly audience?: ReadonlyArray<"user" | "assistant">
  readonly priority?: number
  readonly lastModified?: string
}

/**
 * The schema of {@link Annotations}.
 *
 * @category schemas
 * @since 0.1.0
 */
export const Annotations: Schema.Codec<Annotations> = Schema.Struct({
  audience: Schema.optionalKey(Schema.Array(Schema.Literals(["user", "assistant"]))),
  priority: Schema.optionalKey(Schema.Finite),
  lastModified: Schema.optionalKey(Schema.String)
})

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
export interface ResourceLink {
  readonly type: "resource_link"
  readonly uri: string
  readonly name: string
  readonly title?: string
  readonly description?: string
  readonly mimeType?: string
  readonly size?: number
  readonly icons?: ReadonlyArray<Icon>
  readonly annotations?: Annotations
  readonly _meta?: Meta
}

/**
 * The schema of {@link ResourceLink}.
 *
 * @category schemas
 * @since 0.1.0
 */
export const ResourceLink: Schema.Codec<ResourceLink> = Schema.Struct({
  type: Schema.Literal("resource_link"),
  uri: Schema.String,
  name: Schema.String,
  title: Schema.optionalKey(Schema.String),
  description: Schema.optionalKey(Schema.String),
  mimeType: Schema.optionalKey(Schema.String),
  size: Schema.optionalKey(Schema.Finite),
  icons: Schema.optionalKey(Schema.Array(Icon)),
  ...annotated
})

/**
 * The contents of a resource: text, or base64 in `blob`.
 *
 * @category models
 * @since 0.1.0
 */
export type ResourceContents =
  | { readonly uri: string; readonly mimeType?: string; readonly text: string; readonly _meta?: Meta }
  | { readonly uri: string; readonly mimeType?: string; readonly blob: string; readonly _meta?: Meta }

const contents = {
  uri: Schema.String,
  mimeType: Schema.optionalKey(Schema.String),
  _meta: Schema.optionalKey(Meta)
}

/**
 * The schema of {@link ResourceContents}.
 *
 * @category schemas
 * @since 0.1.0
 */
export const ResourceContents: Schema.Codec<ResourceContents> = Schema.Union([
  Schema.Struct({ ...contents, text: Schema.String }),
  Schema.Struct({ ...contents, blob: Schema.String })
])

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

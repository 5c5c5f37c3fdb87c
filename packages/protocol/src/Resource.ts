/**
 * Resources that a client can read from a server.
 *
 * @stability unstable
 */
import * as Base64 from "effect/encoding/Base64"
import * as Schema from "effect/Schema"
import type { Annotations } from "./Annotations.ts"
import type { Icon } from "./Implementation.ts"
import { describedMembers, resourceMembers } from "./internal/resourceMembers.ts"
import { Meta, RequestMeta } from "./Meta.ts"

/**
 * A resource in the list of a server. `size` is in bytes.
 *
 * @category models
 */
export interface Resource {
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
 * The schema of a {@link Resource}.
 *
 * @category schemas
 */
export const Resource: Schema.Codec<Resource> = Schema.Struct(resourceMembers)

/**
 * A template for the URIs of resources, in the syntax of RFC 6570.
 *
 * @category models
 */
export interface ResourceTemplate {
  readonly uriTemplate: string
  readonly name: string
  readonly title?: string
  readonly description?: string
  readonly mimeType?: string
  readonly icons?: ReadonlyArray<Icon>
  readonly annotations?: Annotations
  readonly _meta?: Meta
}

/**
 * The schema of a {@link ResourceTemplate}.
 *
 * @category schemas
 */
export const ResourceTemplate: Schema.Codec<ResourceTemplate> = Schema.Struct({
  uriTemplate: Schema.String,
  ...describedMembers
})

/**
 * One page of resources. The last page has no `nextCursor` (PAG-03).
 *
 * @category models
 */
export interface ListResourcesResult {
  readonly resources: ReadonlyArray<Resource>
  readonly nextCursor?: string
  readonly _meta?: Meta
}

export const ListResourcesResult: Schema.Codec<ListResourcesResult> = Schema.Struct({
  resources: Schema.Array(Resource),
  nextCursor: Schema.optionalKey(Schema.String),
  _meta: Schema.optionalKey(Meta)
})

/**
 * One page of resource templates.
 *
 * @category models
 */
export interface ListResourceTemplatesResult {
  readonly resourceTemplates: ReadonlyArray<ResourceTemplate>
  readonly nextCursor?: string
  readonly _meta?: Meta
}

export const ListResourceTemplatesResult: Schema.Codec<ListResourceTemplatesResult> = Schema.Struct({
  resourceTemplates: Schema.Array(ResourceTemplate),
  nextCursor: Schema.optionalKey(Schema.String),
  _meta: Schema.optionalKey(Meta)
})

/**
 * The params of `resources/read`, `resources/subscribe` and `resources/unsubscribe`.
 *
 * @category models
 */
export interface ResourceParams {
  readonly uri: string
  readonly _meta?: RequestMeta
}

export const ResourceParams: Schema.Codec<ResourceParams> = Schema.Struct({
  uri: Schema.String,
  _meta: Schema.optionalKey(RequestMeta)
})

/**
 * The contents of a resource: text, or base64 in `blob`.
 *
 * @category models
 */
export type ResourceContents =
  | { readonly uri: string; readonly mimeType?: string; readonly text: string; readonly _meta?: Meta }
  | { readonly uri: string; readonly mimeType?: string; readonly blob: string; readonly _meta?: Meta }

const contents = {
  uri: Schema.String,
  mimeType: Schema.optionalKey(Schema.String),
  _meta: Schema.optionalKey(Meta)
}

export const ResourceContents: Schema.Codec<ResourceContents> = Schema.Union([
  Schema.Struct({ ...contents, text: Schema.String }),
  Schema.Struct({ ...contents, blob: Schema.String })
])

/**
 * The result of `resources/read`: one entry for a plain resource, several for a collection.
 *
 * @category models
 */
export interface ReadResourceResult {
  readonly contents: ReadonlyArray<ResourceContents>
  readonly _meta?: Meta
}

export const ReadResourceResult: Schema.Codec<ReadResourceResult> = Schema.Struct({
  contents: Schema.Array(ResourceContents),
  _meta: Schema.optionalKey(Meta)
})

/**
 * The params of `notifications/resources/updated`: the resource that changed (RES-03).
 *
 * @category models
 */
export interface ResourceUpdatedParams {
  readonly uri: string
  readonly _meta?: Meta
}

export const ResourceUpdatedParams: Schema.Codec<ResourceUpdatedParams> = Schema.Struct({
  uri: Schema.String,
  _meta: Schema.optionalKey(Meta)
})

/**
 * Creates contents that are text.
 *
 * @example
 * ```ts
 * import { Resource } from "@effect-mcp/protocol"
 *
 * export const contents = Resource.text("file:///README.md", "# Notes", "text/markdown")
 * // => { uri: "file:///README.md", text: "# Notes", mimeType: "text/markdown" }
 * ```
 *
 * @category constructors
 */
export const text = (uri: string, text: string, mimeType?: string): ResourceContents =>
  mimeType === undefined ? { uri, text } : { uri, text, mimeType }

/**
 * Creates contents from bytes, or from text that is base64 already.
 *
 * @example
 * ```ts
 * import { Resource } from "@effect-mcp/protocol"
 *
 * export const contents = Resource.blob("file:///logo.png", new Uint8Array([0x89, 0x50, 0x4e, 0x47]), "image/png")
 * // => { uri: "file:///logo.png", blob: "iVBORw==", mimeType: "image/png" }
 * ```
 *
 * @category constructors
 */
export const blob = (uri: string, data: Uint8Array | string, mimeType?: string): ResourceContents => {
  const blob = typeof data === "string" ? data : Base64.encode(data)
  return mimeType === undefined ? { uri, blob } : { uri, blob, mimeType }
}

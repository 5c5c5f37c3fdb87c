/**
 * Resources: what a server offers to read.
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"
import type { Annotations } from "./Annotations.ts"
import type { Icon } from "./Implementation.ts"
import { describedMembers, resourceMembers } from "./internal/resourceMembers.ts"
import { Meta, RequestMeta } from "./Meta.ts"

/**
 * A resource as a server lists it; `size` is in bytes.
 *
 * @category models
 * @since 0.1.0
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
 * @since 0.1.0
 */
export const Resource: Schema.Codec<Resource> = Schema.Struct(resourceMembers)

/**
 * A family of resources; `uriTemplate` is an RFC 6570 template.
 *
 * @category models
 * @since 0.1.0
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
 * @since 0.1.0
 */
export const ResourceTemplate: Schema.Codec<ResourceTemplate> = Schema.Struct({
  uriTemplate: Schema.String,
  ...describedMembers
})

/**
 * One page of resources; no `nextCursor` means that it is the last (PAG-03).
 *
 * @category models
 * @since 0.1.0
 */
export interface ListResourcesResult {
  readonly resources: ReadonlyArray<Resource>
  readonly nextCursor?: string
  readonly _meta?: Meta
}

/**
 * The schema of {@link ListResourcesResult}.
 *
 * @category schemas
 * @since 0.1.0
 */
export const ListResourcesResult: Schema.Codec<ListResourcesResult> = Schema.Struct({
  resources: Schema.Array(Resource),
  nextCursor: Schema.optionalKey(Schema.String),
  _meta: Schema.optionalKey(Meta)
})

/**
 * One page of resource templates.
 *
 * @category models
 * @since 0.1.0
 */
export interface ListResourceTemplatesResult {
  readonly resourceTemplates: ReadonlyArray<ResourceTemplate>
  readonly nextCursor?: string
  readonly _meta?: Meta
}

/**
 * The schema of {@link ListResourceTemplatesResult}.
 *
 * @category schemas
 * @since 0.1.0
 */
export const ListResourceTemplatesResult: Schema.Codec<ListResourceTemplatesResult> = Schema.Struct({
  resourceTemplates: Schema.Array(ResourceTemplate),
  nextCursor: Schema.optionalKey(Schema.String),
  _meta: Schema.optionalKey(Meta)
})

/**
 * Which resource is meant: to be read, subscribed to or unsubscribed from.
 *
 * @category models
 * @since 0.1.0
 */
export interface ResourceParams {
  readonly uri: string
  readonly _meta?: RequestMeta
}

/**
 * The schema of {@link ResourceParams}.
 *
 * @category schemas
 * @since 0.1.0
 */
export const ResourceParams: Schema.Codec<ResourceParams> = Schema.Struct({
  uri: Schema.String,
  _meta: Schema.optionalKey(RequestMeta)
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
 * What was read: one entry for a plain resource, several for one that is a collection.
 *
 * @category models
 * @since 0.1.0
 */
export interface ReadResourceResult {
  readonly contents: ReadonlyArray<ResourceContents>
  readonly _meta?: Meta
}

/**
 * The schema of {@link ReadResourceResult}.
 *
 * @category schemas
 * @since 0.1.0
 */
export const ReadResourceResult: Schema.Codec<ReadResourceResult> = Schema.Struct({
  contents: Schema.Array(ResourceContents),
  _meta: Schema.optionalKey(Meta)
})

/**
 * Which resource has changed (RES-03).
 *
 * @category models
 * @since 0.1.0
 */
export interface ResourceUpdatedParams {
  readonly uri: string
  readonly _meta?: Meta
}

/**
 * The schema of {@link ResourceUpdatedParams}.
 *
 * @category schemas
 * @since 0.1.0
 */
export const ResourceUpdatedParams: Schema.Codec<ResourceUpdatedParams> = Schema.Struct({
  uri: Schema.String,
  _meta: Schema.optionalKey(Meta)
})

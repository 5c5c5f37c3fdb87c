/**
 * Lists that come in pages.
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"
import { RequestMeta } from "./Meta.ts"

/**
 * Which page of a list is asked for: the one behind this cursor, or without one the first. Cursors are opaque, and an empty
 * one is as good as any other (PAG-02, PAG-04).
 *
 * @category models
 * @since 0.1.0
 */
export interface ListParams {
  readonly cursor?: string
  readonly _meta?: RequestMeta
}

/**
 * The schema of {@link ListParams}.
 *
 * @category schemas
 * @since 0.1.0
 */
export const ListParams: Schema.Codec<ListParams> = Schema.Struct({
  cursor: Schema.optionalKey(Schema.String),
  _meta: Schema.optionalKey(RequestMeta)
})

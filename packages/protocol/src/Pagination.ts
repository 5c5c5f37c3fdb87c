/**
 * The pages of lists.
 *
 * @stability unstable
 */
import * as Schema from "effect/Schema"
import { RequestMeta } from "./Meta.ts"

/**
 * The requested page of a list: the page at this cursor, or the first page without a cursor. Cursors are opaque, and an
 * empty string is a valid cursor (PAG-02, PAG-04).
 *
 * @category models
 */
export interface ListParams {
  readonly cursor?: string
  readonly _meta?: RequestMeta
}

export const ListParams: Schema.Codec<ListParams> = Schema.Struct({
  cursor: Schema.optionalKey(Schema.String),
  _meta: Schema.optionalKey(RequestMeta)
})

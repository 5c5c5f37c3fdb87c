/**
 * Roots: the places a client lets a server work in.
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"
import { Meta } from "./Meta.ts"

/**
 * A place, as a `file://` URI (ROOT-03).
 *
 * @category models
 * @since 0.1.0
 */
export interface Root {
  readonly uri: string
  readonly name?: string
  readonly _meta?: Meta
}

/**
 * The schema of a {@link Root}.
 *
 * @category schemas
 * @since 0.1.0
 */
export const Root: Schema.Codec<Root> = Schema.Struct({
  uri: Schema.String.check(Schema.isStartingWith("file://")),
  name: Schema.optionalKey(Schema.String),
  _meta: Schema.optionalKey(Meta)
})

/**
 * The places there are now.
 *
 * @category models
 * @since 0.1.0
 */
export interface ListRootsResult {
  readonly roots: ReadonlyArray<Root>
  readonly _meta?: Meta
}

/**
 * The schema of {@link ListRootsResult}.
 *
 * @category schemas
 * @since 0.1.0
 */
export const ListRootsResult: Schema.Codec<ListRootsResult> = Schema.Struct({
  roots: Schema.Array(Root),
  _meta: Schema.optionalKey(Meta)
})

/**
 * Roots: the directories and files that a client exposes to a server.
 *
 * @stability unstable
 */
import * as Schema from "effect/Schema"
import { Meta } from "./Meta.ts"

/**
 * A root, as a `file://` URI (ROOT-03).
 *
 * @category models
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
 */
export const Root: Schema.Codec<Root> = Schema.Struct({
  uri: Schema.String.check(Schema.isStartingWith("file://")),
  name: Schema.optionalKey(Schema.String),
  _meta: Schema.optionalKey(Meta)
})

/**
 * The result of `roots/list`.
 *
 * @category models
 */
export interface ListRootsResult {
  readonly roots: ReadonlyArray<Root>
  readonly _meta?: Meta
}

export const ListRootsResult: Schema.Codec<ListRootsResult> = Schema.Struct({
  roots: Schema.Array(Root),
  _meta: Schema.optionalKey(Meta)
})

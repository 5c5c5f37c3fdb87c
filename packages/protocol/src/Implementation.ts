/**
 * The name and version that each side reports of itself.
 *
 * @stability unstable
 */
import * as Schema from "effect/Schema"

/**
 * An icon for user interfaces. Show it only if its `src` has a trusted scheme (MSG-36).
 *
 * @category models
 */
export interface Icon {
  readonly src: string
  readonly mimeType?: string
  readonly sizes?: ReadonlyArray<string>
  readonly theme?: "light" | "dark"
}

/**
 * The schema of an {@link Icon}.
 *
 * @category schemas
 */
export const Icon: Schema.Codec<Icon> = Schema.Struct({
  src: Schema.String,
  mimeType: Schema.optionalKey(Schema.String),
  sizes: Schema.optionalKey(Schema.Array(Schema.String)),
  theme: Schema.optionalKey(Schema.Literals(["light", "dark"]))
})

/**
 * The name and version of a client or a server. They are self-reported: show or log them, but base no decision about
 * behaviour or security on them (VER-06).
 *
 * @category models
 */
export interface Implementation {
  readonly name: string
  readonly version: string
  readonly title?: string
  readonly description?: string
  readonly websiteUrl?: string
  readonly icons?: ReadonlyArray<Icon>
}

/**
 * The schema of an {@link Implementation}.
 *
 * @category schemas
 */
export const Implementation: Schema.Codec<Implementation> = Schema.Struct({
  name: Schema.String,
  version: Schema.String,
  title: Schema.optionalKey(Schema.String),
  description: Schema.optionalKey(Schema.String),
  websiteUrl: Schema.optionalKey(Schema.String),
  icons: Schema.optionalKey(Schema.Array(Icon))
})

/**
 * Who a peer says it is.
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"

/**
 * An image that stands for something in a user interface. Show it only when its `src` has a scheme you trust (MSG-36).
 *
 * @category models
 * @since 0.1.0
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
 * @since 0.1.0
 */
export const Icon: Schema.Codec<Icon> = Schema.Struct({
  src: Schema.String,
  mimeType: Schema.optionalKey(Schema.String),
  sizes: Schema.optionalKey(Schema.Array(Schema.String)),
  theme: Schema.optionalKey(Schema.Literals(["light", "dark"]))
})

/**
 * The name and version of a client or server. It is self-reported: fit for display and logs, never for decisions about
 * behaviour or security (VER-06).
 *
 * @category models
 * @since 0.1.0
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
 * @since 0.1.0
 */
export const Implementation: Schema.Codec<Implementation> = Schema.Struct({
  name: Schema.String,
  version: Schema.String,
  title: Schema.optionalKey(Schema.String),
  description: Schema.optionalKey(Schema.String),
  websiteUrl: Schema.optionalKey(Schema.String),
  icons: Schema.optionalKey(Schema.Array(Icon))
})

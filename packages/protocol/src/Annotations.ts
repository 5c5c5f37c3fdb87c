/**
 * What is said about a piece of content or a resource beside what it holds.
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"

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

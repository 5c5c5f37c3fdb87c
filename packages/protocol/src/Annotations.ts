/**
 * Annotations of a content block or a resource: audience, priority, time of the last change.
 *
 * @stability unstable
 */
import * as Schema from "effect/Schema"

/**
 * The audience of a content block, its priority from 0 to 1, and the time of its last change in ISO 8601.
 *
 * @category models
 */
export interface Annotations {
  readonly audience?: ReadonlyArray<"user" | "assistant">
  readonly priority?: number
  readonly lastModified?: string
}

export const Annotations: Schema.Codec<Annotations> = Schema.Struct({
  audience: Schema.optionalKey(Schema.Array(Schema.Literals(["user", "assistant"]))),
  priority: Schema.optionalKey(Schema.Finite),
  lastModified: Schema.optionalKey(Schema.String)
})

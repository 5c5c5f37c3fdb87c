/**
 * How far a request has come.
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"
import { Meta, ProgressToken } from "./Meta.ts"

/**
 * One step of progress. `progress` grows with every step, whether `total` is known or not (PRG-03).
 *
 * @category models
 * @since 0.1.0
 */
export interface Progress {
  readonly progress: number
  readonly total?: number
  readonly message?: string
}

/**
 * A step of progress of the request that brought this token (PRG-04).
 *
 * @category models
 * @since 0.1.0
 */
export interface ProgressParams extends Progress {
  readonly progressToken: ProgressToken
  readonly _meta?: Meta
}

/**
 * The schema of {@link ProgressParams}.
 *
 * @category schemas
 * @since 0.1.0
 */
export const ProgressParams: Schema.Codec<ProgressParams> = Schema.Struct({
  progressToken: ProgressToken,
  progress: Schema.Finite,
  total: Schema.optionalKey(Schema.Finite),
  message: Schema.optionalKey(Schema.String),
  _meta: Schema.optionalKey(Meta)
})

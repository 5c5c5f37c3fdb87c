/**
 * Progress of a request.
 *
 * @stability unstable
 */
import * as Schema from "effect/Schema"
import { Meta, ProgressToken } from "./Meta.ts"

/**
 * One step of progress. `progress` increases with every step, even if `total` is unknown (PRG-03).
 *
 * @category models
 */
export interface Progress {
  readonly progress: number
  readonly total?: number
  readonly message?: string
}

/**
 * The params of `notifications/progress`: a step of the request with this token (PRG-04).
 *
 * @category models
 */
export interface ProgressParams extends Progress {
  readonly progressToken: ProgressToken
  readonly _meta?: Meta
}

export const ProgressParams: Schema.Codec<ProgressParams> = Schema.Struct({
  progressToken: ProgressToken,
  progress: Schema.Finite,
  total: Schema.optionalKey(Schema.Finite),
  message: Schema.optionalKey(Schema.String),
  _meta: Schema.optionalKey(Meta)
})

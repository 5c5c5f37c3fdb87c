/**
 * Taking a request back.
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"
import { Meta } from "./Meta.ts"
import { RequestId } from "./RequestId.ts"

/**
 * Which request the sender no longer waits for, and why. From 2025-11-25 on the id may be absent, which only a task
 * gives a meaning to; without one it is ignored (CAN-05, CAN-09).
 *
 * @category models
 * @since 0.1.0
 */
export interface CancelledParams {
  readonly requestId?: RequestId
  readonly reason?: string
  readonly _meta?: Meta
}

/**
 * The schema of {@link CancelledParams}.
 *
 * @category schemas
 * @since 0.1.0
 */
export const CancelledParams: Schema.Codec<CancelledParams> = Schema.Struct({
  requestId: Schema.optionalKey(RequestId),
  reason: Schema.optionalKey(Schema.String),
  _meta: Schema.optionalKey(Meta)
})

/**
 * The params of `notifications/cancelled`.
 *
 * @stability unstable
 */
import * as Schema from "effect/Schema"
import { Meta } from "./Meta.ts"
import { RequestId } from "./RequestId.ts"

/**
 * The request that the sender no longer waits for, and the reason. From 2025-11-25 on the id may be absent, for tasks.
 * A session ignores a cancellation without an id (CAN-05, CAN-09).
 *
 * @category models
 */
export interface CancelledParams {
  readonly requestId?: RequestId
  readonly reason?: string
  readonly _meta?: Meta
}

export const CancelledParams: Schema.Codec<CancelledParams> = Schema.Struct({
  requestId: Schema.optionalKey(RequestId),
  reason: Schema.optionalKey(Schema.String),
  _meta: Schema.optionalKey(Meta)
})

/**
 * What may be said about a single request.
 */
import type { Meta, Progress } from "@effect-mcp/protocol"
import type * as Duration from "effect/Duration"
import type * as Effect from "effect/Effect"

/**
 * How long to wait for a response, whom to tell of progress, and what to send along.
 *
 * @category models
 */
export interface RequestOptions<R = never> {
  /**
   * How long to wait; then the request fails with `Timeout` and the peer is told to cancel it (TMO-03, TMO-04). Zero fails
   * at once and sends nothing, `"Infinity"` waits for ever. Default: the session's.
   */
  readonly timeout?: Duration.Input
  /** Let every step of progress start the deadline anew (TMO-05). Needs `onProgress`. Default: no. */
  readonly extendOnProgress?: boolean
  /**
   * How long to wait at the very most, whatever the progress (TMO-06). Default: the session's, where progress extends the
   * deadline.
   */
  readonly totalTimeout?: Duration.Input
  /**
   * Is given every step of progress, one at a time, in order and before the result, in a fiber that ends with the call. With
   * it the request asks its receiver for progress.
   */
  readonly onProgress?: (step: Progress.Progress) => Effect.Effect<void, never, R>
  /** Goes into the request's `_meta`. */
  readonly meta?: Meta.Meta
}

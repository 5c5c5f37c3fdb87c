/**
 * Options for a single request.
 *
 * @stability unstable
 */
import type { Meta, Progress } from "@effect-mcp/protocol"
import type * as Duration from "effect/Duration"
import type * as Effect from "effect/Effect"

/**
 * Options for a request that this side sends: its deadline, the consumer of its progress, and its `_meta`.
 *
 * @category models
 */
export interface RequestOptions<R = never> {
  /**
   * The time that the request waits for its response. Then it fails with `Timeout`, and a cancellation is sent to the
   * peer (TMO-03, TMO-04). Zero fails at once and sends nothing; `"Infinity"` waits without a limit. Default:
   * `limits.requestTimeout` of the session, 60 seconds.
   */
  readonly timeout?: Duration.Input
  /** Restarts `timeout` with each step of progress (TMO-05). Needs `onProgress`. Default: no. */
  readonly extendOnProgress?: boolean
  /**
   * The time that the request waits in total, even if progress restarts `timeout` (TMO-06). Default: with
   * `extendOnProgress` `limits.requestTotalTimeout` of the session, 1 hour; otherwise no limit.
   */
  readonly totalTimeout?: Duration.Input
  /**
   * Receives the steps of progress, one at a time, in order and before the result, in a fiber that ends with the call.
   * A slow consumer loses the oldest (`limits.maxProgressSteps`). With this option, the request has a progress token.
   */
  readonly onProgress?: (step: Progress.Progress) => Effect.Effect<void, never, R>
  /**
   * Asks the server even if a kept result is still fresh, and keeps the new one. A client keeps results of lists and of
   * `resources/read` for as long as a server of revision 2026-07-28 allows (CCH-04). Default: no.
   */
  readonly reload?: boolean
  /**
   * The answers to the questions of a server of revision 2026-07-28, with which it answers a call instead of a result.
   * With `"program"`, the call fails with the reason `InputRequired`, and the program makes it again by `request`, with
   * `inputResponses` and `requestState` added to its params (MRTR-15). A proxy or a durable workflow does so. Default
   * `"handlers"`: the handlers of the session answer, and the session repeats the call.
   */
  readonly questions?: "handlers" | "program"
  /** The `_meta` of the request, in addition to the progress token. */
  readonly meta?: Meta.Meta
}

/**
 * What a client's handler knows of the server's request it serves.
 */
import type { Meta, Profile, Progress, RequestId } from "@effect-mcp/protocol"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"

/**
 * The request of the server that the running handler of the client serves. It is closed with its request, as the server's
 * `RequestContext` is, and a spread of it has no members either.
 *
 * @example
 * ```ts
 * import { CallbackContext } from "@effect-mcp/session"
 * import * as Effect from "effect/Effect"
 *
 * // Show who is asking before you let a user answer (ELI-16).
 * export const asker = Effect.map(CallbackContext.CallbackContext, (context) => context.profile.info.name)
 * ```
 *
 * @category services
 */
export class CallbackContext extends Context.Service<CallbackContext, {
  readonly id: RequestId.RequestId
  readonly method: string
  readonly meta: Meta.RequestMeta | undefined
  /** What is known of the server that asks. */
  readonly profile: Profile.ServerProfile
  /** Reports a step of progress. Nothing is sent unless the server asked for progress, or if the value did not grow. */
  readonly progress: (step: Progress.Progress) => Effect.Effect<void>
}>()("@effect-mcp/session/CallbackContext") {}

/**
 * Reports a step of progress of the server's request (PRG-03, PRG-04).
 *
 * @example
 * ```ts
 * import { Content } from "@effect-mcp/protocol"
 * import { CallbackContext } from "@effect-mcp/session"
 * import * as Effect from "effect/Effect"
 *
 * export const createMessage = Effect.gen(function*() {
 *   yield* CallbackContext.progress({ progress: 1, total: 2, message: "waiting for the user's consent" })
 *   return { role: "assistant", content: Content.text("42"), model: "example-1" } as const
 * })
 * ```
 *
 * @category accessors
 */
export const progress = (step: Progress.Progress): Effect.Effect<void, never, CallbackContext> =>
  Effect.flatMap(CallbackContext, (context) => context.progress(step))

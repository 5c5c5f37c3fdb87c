/**
 * The failure of effects that wait for something in a session that has ended.
 *
 * @stability unstable
 */
import { CloseReason } from "@effect-mcp/protocol"
import * as Data from "effect/Data"

/**
 * Fails an effect that waits for something in a session, because the session has ended for this `reason`.
 *
 * @example
 * ```ts
 * import type { ServerSession } from "@effect-mcp/session"
 * import * as Effect from "effect/Effect"
 *
 * export const clientName = (session: ServerSession.ServerSessionShape) =>
 *   session.profile.pipe(
 *     Effect.map(({ info }) => info?.name),
 *     Effect.catchTag("SessionClosedError", ({ reason }) => Effect.succeed(`no client: ${reason._tag}`))
 *   )
 * ```
 *
 * @category errors
 */
export class SessionClosedError extends Data.TaggedError("SessionClosedError")<{
  readonly reason: CloseReason.CloseReason
}> {
  override get message(): string {
    return `the session has ended: ${CloseReason.describe(this.reason)}`
  }
}

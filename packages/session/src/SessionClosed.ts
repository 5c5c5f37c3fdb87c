/**
 * The session is no more.
 */
import { CloseReason } from "@effect-mcp/protocol"
import * as Data from "effect/Data"

/**
 * What was waited for will not come, since the session has ended; `reason` says why.
 *
 * @example
 * ```ts
 * import type { ServerSession } from "@effect-mcp/session"
 * import * as Effect from "effect/Effect"
 *
 * export const clientName = (session: ServerSession.ServerSessionShape) =>
 *   session.profile.pipe(
 *     Effect.map(({ info }) => info?.name),
 *     Effect.catchTag("SessionClosed", ({ reason }) => Effect.succeed(`nobody: ${reason._tag}`))
 *   )
 * ```
 *
 * @category errors
 */
export class SessionClosed extends Data.TaggedError("SessionClosed")<{
  readonly reason: CloseReason.CloseReason
}> {
  override get message(): string {
    return `the session has ended: ${CloseReason.describe(this.reason)}`
  }
}

/**
 * The shutdown of a process that has sessions.
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"

/**
 * An effect that completes when the process can no longer wait for handlers. A session that is closing then interrupts
 * its handlers at once, even before `Limits.gracefulCloseTimeout` has passed. A session reads this reference from the
 * context of the program that makes the session. By default the effect never completes. `StdioServer.runMain` provides
 * an effect that completes shortly after the first signal, or at the second one.
 *
 * @example
 * ```ts
 * import { ServerSession, Shutdown } from "@effect-mcp/session"
 * import * as Deferred from "effect/Deferred"
 * import * as Effect from "effect/Effect"
 *
 * const info = { name: "example", version: "1.0.0" }
 *
 * // Completing `cutoff` interrupts the handlers of a session that is closing.
 * export const server = (cutoff: Deferred.Deferred<void>) =>
 *   ServerSession.serve({ "tools/call": () => Effect.never }, { info }).pipe(
 *     Effect.provideService(Shutdown.HandlerCutoff, Deferred.await(cutoff))
 *   )
 * ```
 *
 * @category references
 */
export const HandlerCutoff: Context.Reference<Effect.Effect<void>> = Context.Reference<Effect.Effect<void>>(
  "@effect-mcp/session/Shutdown/HandlerCutoff",
  { defaultValue: () => Effect.never }
)

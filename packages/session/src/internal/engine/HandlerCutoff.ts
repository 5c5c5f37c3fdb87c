/** The end of the patience with handlers while a process shuts down. */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"

/**
 * An effect that completes when the process can no longer wait for handlers. A session that is closing then interrupts
 * its handlers at once, even before `Limits.gracefulTimeout` has passed. A session reads this reference from the
 * context of the program that makes the session. By default the effect never completes. `StdioServer.runMain` provides
 * an effect that completes shortly after the first signal, or at the second one.
 */
export const HandlerCutoff: Context.Reference<Effect.Effect<void>> = Context.Reference<Effect.Effect<void>>(
  "@effect-mcp/session/HandlerCutoff",
  { defaultValue: () => Effect.never }
)

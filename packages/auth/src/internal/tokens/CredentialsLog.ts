/**
 * The log of credentials, for programs that do not handle their events.
 */
import * as Effect from "effect/Effect"
import type { CredentialsEvent } from "./Credentials.ts"

/** Logs an event. */
export const log = (event: CredentialsEvent): Effect.Effect<void> => {
  const tokens = `tokens of ${event.key.issuer} for ${event.key.resource}`
  switch (event._tag) {
    case "Refreshed":
      return Effect.logDebug(`${tokens}: refreshed`)
    case "RefreshFailed":
      return Effect.logWarning(
        `${tokens}: not refreshed: ${event.error.message}; the next attempt is in ${event.retryInMillis} ms`
      )
    case "Revoked":
      return Effect.logWarning(`${tokens}: removed: ${event.error.message}`)
    case "NotSaved":
      return Effect.logError(`${tokens}: not saved, and kept in memory: ${event.error.message}`)
    case "Saved":
      return Effect.logInfo(`${tokens}: saved now`)
    case "LeaseLost":
      return Effect.logWarning(`${tokens}: another process has taken the lease, because the refresh took too long`)
  }
}

/** A log with at most one warning every ten seconds. */
import { monotonicMillis } from "@effect-mcp/session/internal"
import type * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"

/** The shortest time between two warnings. */
const intervalMillis = 10_000

/** Logs one of many warnings, because the cause may occur with each request, and counts the others. */
export class LimitedLog {
  readonly #clock: Clock.Clock
  #loggedAt = Number.NEGATIVE_INFINITY
  #leftOut = 0

  constructor(clock: Clock.Clock) {
    this.#clock = clock
  }

  warn(message: string, cause: unknown): Effect.Effect<void> {
    return Effect.suspend(() => {
      const now = monotonicMillis(this.#clock)
      if (now - this.#loggedAt < intervalMillis) {
        this.#leftOut++
        return Effect.void
      }
      const leftOut = this.#leftOut
      this.#loggedAt = now
      this.#leftOut = 0
      return Effect.logWarning(leftOut === 0 ? message : `${message} (${leftOut} more were not logged)`, cause)
    })
  }
}

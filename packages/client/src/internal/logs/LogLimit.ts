/** A limit on the log messages that a server can cause. */

import { monotonicMillis } from "@effect-mcp/session/internal"
import * as Effect from "effect/Effect"

/** The numbers of one limit. */
export interface LogRate {
  /** The number of messages after a quiet time. */
  readonly burst: number
  readonly perSecond: number
}

/** The time between two reports of messages that were left out, in milliseconds. */
const reportMillis = 1_000

/** A token bucket for log messages. It counts those for which it has no room. */
export class LogLimit {
  readonly #rate: LogRate
  readonly #report: (leftOut: number) => Effect.Effect<void>
  #room: number
  #at = Number.NEGATIVE_INFINITY
  #leftOut = 0
  #reportedAt = Number.NEGATIVE_INFINITY

  /** `report` logs the number of messages that were left out, before the next message that has room. */
  constructor(rate: LogRate, report: (leftOut: number) => Effect.Effect<void>) {
    this.#rate = rate
    this.#report = report
    this.#room = rate.burst
  }

  /** Runs an effect that logs, if there is room for one more message. */
  within(log: Effect.Effect<void>): Effect.Effect<void> {
    return Effect.clockWith((clock) => {
      const now = monotonicMillis(clock)
      if (!this.#take(now)) return Effect.void
      // Not before each message, because a flood leaves out some between any two.
      if (this.#leftOut === 0 || now - this.#reportedAt < reportMillis) return log
      const report = this.#report(this.#leftOut)
      this.#leftOut = 0
      this.#reportedAt = now
      return Effect.andThen(report, log)
    })
  }

  #take(now: number): boolean {
    const { burst, perSecond } = this.#rate
    this.#room = Math.min(burst, this.#room + (now - this.#at) * perSecond / 1_000)
    this.#at = now
    if (this.#room >= 1) {
      this.#room--
      return true
    }
    this.#leftOut++
    return false
  }
}

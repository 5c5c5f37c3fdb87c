/** The bound on the messages that a server may request from a model without a decision of the program about each. */

import { ErrorCode, McpError } from "@effect-mcp/protocol"
import { monotonicMillis } from "@effect-mcp/session/internal"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Semaphore from "effect/Semaphore"

/** The numbers that a server may request at once, and that run at once. */
const limits = { burst: 60, perSecond: 1, concurrency: 4 }

const exceeded = (retryAfterMillis: number): McpError.McpError =>
  new McpError.McpError({
    code: ErrorCode.Overloaded,
    message: `sampling/createMessage: the client serves ${limits.burst} requests at once, and then ` +
      `${limits.perSecond} per second; try again in ${retryAfterMillis} ms`,
    data: { retryAfterMillis }
  })

/** Returns a function that bounds the answers of one client. Answers beyond those that run at once wait. */
export const make = (): <A, R>(answer: Effect.Effect<A, McpError.McpError, R>) => Effect.Effect<
  A,
  McpError.McpError,
  R
> => {
  const running = Semaphore.makeUnsafe(limits.concurrency)
  let left = limits.burst
  let updated: number | undefined
  return (answer) =>
    Effect.flatMap(
      Clock.Clock,
      (clock) => {
        const now = monotonicMillis(clock)
        left = Math.min(limits.burst, left + (now - (updated ?? now)) * limits.perSecond / 1_000)
        updated = now
        if (left < 1) return Effect.fail(exceeded(Math.ceil((1 - left) * 1_000 / limits.perSecond)))
        left--
        return running.withPermits(1)(answer)
      }
    )
}

/** The end of a standalone stream at the time at which the identity of its client expires. */
import { Timer } from "@effect-mcp/session/internal"
import type { Principal } from "@effect-mcp/session/Principal"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import type { SseResponseBody } from "./SseResponseBody.ts"

/** Ends a body when the identity of this principal expires. The stream stays, and its client resumes it. */
export type StreamExpiry = (body: SseResponseBody, principal: Principal | undefined) => void

/**
 * Makes the function for the streams of one server. It has one timer for all of them. The watchdog of the server would
 * be late by the time between two of its rounds, which is seconds.
 */
export const make: Effect.Effect<StreamExpiry, never, Scope.Scope> = Effect.gen(function*() {
  const clock = yield* Clock.Clock
  const fork = Effect.runForkWith(yield* Effect.context<never>())
  /** The times at which bodies end, on the clock of the timer. */
  const ends = new Map<SseResponseBody, number>()
  const timer = new Timer({
    clock,
    fork,
    expire: (now) => {
      let next = Number.POSITIVE_INFINITY
      for (const [body, at] of ends) {
        if (at > now) next = Math.min(next, at)
        else if (ends.delete(body)) body.finish()
      }
      return next
    }
  })
  yield* Effect.addFinalizer(() => Effect.sync(() => timer.stop()))
  return (body, principal) => {
    if (principal?.expiresAt === undefined) return
    const at = timer.now() + Math.max(principal.expiresAt - clock.currentTimeMillisUnsafe(), 0)
    ends.set(body, at)
    body.onClose(() => {
      ends.delete(body)
      if (ends.size === 0) timer.rest()
    })
    timer.watch(at)
  }
})

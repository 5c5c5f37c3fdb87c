/** The end of a standalone stream at the time at which the identity of its client expires. */
import type { Principal } from "@effect-mcp/session/Principal"
import type * as Clock from "effect/Clock"
import type { SseResponseBody } from "./SseResponseBody.ts"
import type { StreamWatchdog } from "./StreamWatchdog.ts"

/** Ends a body when the identity of this principal expires. The stream stays, and its client resumes it. */
export type StreamExpiry = (body: SseResponseBody, principal: Principal | undefined) => void

/** Makes the function for the streams of one server. The watchdog ends them, so that none has a timer of its own. */
export const make = (watchdog: StreamWatchdog, clock: Clock.Clock): StreamExpiry => (body, principal) => {
  if (principal?.expiresAt === undefined) return
  const timeout = watchdog.schedule(
    Math.max(principal.expiresAt - clock.currentTimeMillisUnsafe(), 0),
    () => body.finish()
  )
  body.onClose(() => watchdog.cancel(timeout))
}

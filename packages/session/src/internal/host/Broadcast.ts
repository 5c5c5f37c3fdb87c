/** A broadcast to the sessions of a host: one effect for each session, all at the same time. */

import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Option from "effect/Option"
import type { HostedSession } from "./HostedSession.ts"
import type { BroadcastOptions, BroadcastResult, Hosted } from "./SessionHostShape.ts"

/** The time that each session has by default. */
const defaultTimeout = Duration.seconds(5)

type Outcome = keyof BroadcastResult

/**
 * Runs `send` for each session, and counts the outcomes. Each session has a fiber of its own, so that a client that
 * does not read delays only its own message. A defect of one `send` counts as a failure of this session.
 */
export const run = <R>(
  sessions: ReadonlyArray<HostedSession>,
  send: (hosted: Hosted) => Effect.Effect<unknown, unknown, R>,
  { timeout = defaultTimeout }: BroadcastOptions = {}
): Effect.Effect<BroadcastResult, never, R> =>
  Effect.suspend(() => {
    const counts: Record<Outcome, number> = { sent: 0, failed: 0, timedOut: 0 }
    const one = (hosted: HostedSession) =>
      Effect.map(Effect.exit(Effect.timeoutOption(Effect.suspend(() => send(hosted)), timeout)), (exit) => {
        const outcome: Outcome = Exit.isFailure(exit) ? "failed" : Option.isNone(exit.value) ? "timedOut" : "sent"
        counts[outcome]++
      })
    return Effect.as(Effect.forEach(sessions, one, { concurrency: "unbounded", discard: true }), counts)
  })

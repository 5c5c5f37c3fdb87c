/** The sessions that one connection opens in place of lost ones, and when it gives up doing so. */
import * as TransportError from "@effect-mcp/session/TransportError"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import { monotonicMillis } from "../../../shared/monotonicMillis.ts"
import type { ReconnectDelay } from "./ReconnectDelay.ts"
import type { SessionCleanup } from "./SessionCleanup.ts"

/** One session as the server knows it. A new one is another, though it may have the same id. */
export interface Identity {
  readonly session: string | undefined
  /** On the monotonic clock, in milliseconds. */
  readonly openedAt: number
  readonly isRenewed: boolean
  /** A request was answered in it. */
  answered: boolean
}

export const lost = (problem: string): TransportError.TransportError =>
  TransportError.make({ _tag: "SessionLost", problem })

/** Milliseconds on a clock that is not set. */
export const millisNow: Effect.Effect<number> = Effect.map(Clock.Clock, monotonicMillis)

export const identity = (session: string | undefined, isRenewed: boolean): Effect.Effect<Identity> =>
  Effect.map(millisNow, (openedAt) => ({ session, openedAt, isRenewed, answered: false }))

/** Takes leave of a lost session, and succeeds when it is time to open another. */
export type Retire = (lost: Identity) => Effect.Effect<void, TransportError.TransportError>

/**
 * Without a bound, a server that forgets its sessions at once would be sent requests as fast as it answers, and would
 * be left with a session for each. A session was worth opening if a request was answered in it, or if it lasted.
 */
export const make = (sessions: SessionCleanup, reconnect: ReconnectDelay): Retire => {
  let inVain = 0
  return Effect.fnUntraced(function*({ answered, isRenewed, openedAt, session }) {
    const worthwhile = answered || (yield* millisNow) - openedAt >= reconnect.maxMillis
    if (worthwhile) inVain = 0
    else if (isRenewed) inVain++
    if (session !== undefined) {
      // A server of several processes may have asked the wrong one, and still hold a session that was never of use.
      if (isRenewed && !worthwhile) yield* sessions.abandon(session)
      else sessions.forget(session)
    }
    if (inVain >= reconnect.maxRenewals) {
      return yield* lost(`${inVain} new ones in a row were lost before a request was answered in them`)
    }
    if (inVain > 0) yield* Effect.sleep(yield* reconnect.renewalMillis(inVain))
  })
}

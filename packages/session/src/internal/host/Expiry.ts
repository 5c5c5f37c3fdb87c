/** The expiry of a host's sessions: the check of all sessions, and the shift after a jump of the wall clock. */

import type * as Clock from "effect/Clock"
import type * as Effect from "effect/Effect"
import { monotonicMillis } from "../monotonicMillis.ts"
import type { HostedSession } from "./HostedSession.ts"
import * as HostMetrics from "./HostMetrics.ts"

/** The lifetimes of sessions, in milliseconds. */
export interface Lifetimes {
  /** From the opening until the client has sent `initialize`. */
  readonly initialize: number
  /** From the response to `initialize` until the handshake is finished. */
  readonly handshake: number
  /** From the last use, while the session is not held and has no request in flight. */
  readonly idle: number
  /** From the first opening, used or not. */
  readonly age: number
}

/** The parts of a host that expiry needs. */
export interface Options {
  readonly clock: Clock.Clock
  readonly sessions: ReadonlyMap<string, HostedSession>
  readonly lifetimes: Lifetimes
  fork<A, E>(effect: Effect.Effect<A, E>): void
}

/** The least time between two checks of all sessions, in milliseconds. A session may expire this much later. */
export const coarseness = 1000

/** Closes the sessions of a host whose lifetime is over. */
export class Expiry {
  readonly #options: Options
  /** Both clocks when they were last read. */
  #clocks: { readonly wall: number; readonly steady: number }

  constructor(options: Options) {
    this.#options = options
    this.#clocks = {
      wall: options.clock.currentTimeMillisUnsafe(),
      steady: monotonicMillis(options.clock)
    }
  }

  /**
   * Returns the wall-clock time, in which the fields of a `HostedSession` are, after shifting them by a jump of that
   * clock. `steady` is the time of a clock that never jumps.
   */
  now(steady: number): number {
    const wall = this.#options.clock.currentTimeMillisUnsafe()
    this.#shift(wall, steady)
    return wall
  }

  /**
   * Closes the sessions whose lifetime is over at this time of a clock that never jumps. Returns the time at which the
   * next session is due at the earliest.
   */
  endDue(steady: number): number {
    const wall = this.now(steady)
    let next = Number.POSITIVE_INFINITY
    for (const hosted of this.#options.sessions.values()) {
      if (hosted.phase === "Live") next = Math.min(next, this.#check(hosted, wall))
    }
    return steady + next
  }

  /** Shifts all times by a jump of the wall clock. Without this, sessions would expire early when the clock is set. */
  #shift(wall: number, steady: number): void {
    const gained = wall - this.#clocks.wall - (steady - this.#clocks.steady)
    this.#clocks = { wall, steady }
    if (Math.abs(gained) <= coarseness) return
    for (const hosted of this.#options.sessions.values()) {
      hosted.usedAt = Math.min(hosted.usedAt + Math.max(gained, 0), wall)
      hosted.handshakeAt = Math.min(hosted.handshakeAt + Math.max(gained, 0), wall)
    }
  }

  /** Closes a session that is due. Returns the time until the session may be due; `Infinity` for a closed one. */
  #check(hosted: HostedSession, at: number): number {
    const { age, idle } = this.#options.lifetimes
    const step = hosted.operates
      ? undefined
      : hosted.session.runtime.state()._tag === "AwaitingInitialize"
      ? "initialize"
      : "handshake"
    const handshakeLeft = step === undefined
      ? Number.POSITIVE_INFINITY
      : hosted.handshakeAt + this.#options.lifetimes[step] - at
    if (step !== undefined && handshakeLeft <= 0) return this.#end(hosted, step)
    const identityLeft = hosted.endsAt - at
    if (identityLeft <= 0) return this.#end(hosted, "identity")
    const ageLeft = hosted.openedAt + age - at
    if (ageLeft <= 0) return this.#end(hosted, "age")
    // The idle time of a held session starts when it is released.
    let idleLeft = hosted.held > 0 ? idle : hosted.usedAt + idle - at
    if (hosted.busy || (idleLeft <= 0 && hosted.inFlight > 0)) {
      hosted.touch()
      hosted.busy = hosted.inFlight > 0
      idleLeft = hosted.busy ? coarseness : idle
    }
    if (idleLeft <= 0) return this.#end(hosted, "idle")
    return Math.min(handshakeLeft, ageLeft, idleLeft, identityLeft)
  }

  #end(hosted: HostedSession, by: keyof Lifetimes | "identity"): number {
    const { runtime } = hosted.session
    const afterMillis = by === "identity"
      ? Math.max(hosted.endsAt - hosted.openedAt, 0)
      : this.#options.lifetimes[by]
    if (by === "initialize") {
      runtime.timeOut(afterMillis)
    } else if (by === "handshake") {
      runtime.end({ _tag: "Close", reason: { _tag: "HandshakeTimeout", afterMillis } }, "Immediate")
    } else {
      runtime.end({ _tag: "Close", reason: { _tag: "Expired", afterMillis, of: by } })
    }
    this.#options.fork(HostMetrics.expired(hosted.kind, by))
    return Number.POSITIVE_INFINITY
  }
}

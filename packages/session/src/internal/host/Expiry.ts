import type * as Clock from "effect/Clock"
import type * as Effect from "effect/Effect"
import type { HostedSession } from "./HostedSession.ts"
import * as HostMetrics from "./HostMetrics.ts"

/** How long sessions may last, in milliseconds. */
export interface Lifetimes {
  /** Until the client has said `initialize`. */
  readonly initialize: number
  /** From the answer to `initialize` until the handshake is finished. */
  readonly handshake: number
  /** Without being used, held, or busy. */
  readonly idle: number
  readonly age: number
}

/** What it needs of its host. */
export interface Options {
  readonly clock: Clock.Clock
  readonly sessions: ReadonlyMap<string, HostedSession>
  readonly lifetimes: Lifetimes
  fork<A, E>(effect: Effect.Effect<A, E>): void
}

/** How much later than asked for a host may look at its sessions, so that it need not look at them all the time: in milliseconds. */
export const coarseness = 1000

/** When the sessions of a host are at their end, and that they end then. */
export class Expiry {
  readonly #options: Options
  #lookedAt: { readonly wall: number; readonly steady: number }

  constructor(options: Options) {
    this.#options = options
    this.#lookedAt = {
      wall: options.clock.currentTimeMillisUnsafe(),
      steady: Number(options.clock.monotonicTimeNanosUnsafe()) / 1_000_000
    }
  }

  /**
   * The time on the wall, at this time of a clock that never jumps, once what the wall clock has gained was made good.
   */
  now(time: number): number {
    const at = this.#options.clock.currentTimeMillisUnsafe()
    this.#makeGood(at, time)
    return at
  }

  /**
   * Ends what is due at this time, of a clock that never jumps. Returns when something else will be, at the earliest.
   */
  endDue(time: number): number {
    const at = this.now(time)
    let next = Number.POSITIVE_INFINITY
    for (const hosted of this.#options.sessions.values()) {
      if (hosted.phase === "Live") next = Math.min(next, this.#look(hosted, at))
    }
    return time + next
  }

  /** The clock on the wall may be set; nobody has been idle for longer because of that. */
  #makeGood(wall: number, steady: number): void {
    const gained = wall - this.#lookedAt.wall - (steady - this.#lookedAt.steady)
    this.#lookedAt = { wall, steady }
    if (Math.abs(gained) <= coarseness) return
    for (const hosted of this.#options.sessions.values()) {
      hosted.usedAt = Math.min(hosted.usedAt + Math.max(gained, 0), wall)
      hosted.handshakeAt = Math.min(hosted.handshakeAt + Math.max(gained, 0), wall)
    }
  }

  /** Ends a session that is due, or says how long it has at least. */
  #look(hosted: HostedSession, at: number): number {
    const { age, idle } = this.#options.lifetimes
    const step = hosted.operates
      ? undefined
      : hosted.session.runtime.state()._tag === "AwaitingInitialize"
      ? "initialize"
      : "handshake"
    const opensFor = step === undefined
      ? Number.POSITIVE_INFINITY
      : hosted.handshakeAt + this.#options.lifetimes[step] - at
    if (step !== undefined && opensFor <= 0) return this.#end(hosted, step)
    const ages = hosted.openedAt + age - at
    if (ages <= 0) return this.#end(hosted, "age")
    // What is held is idle at the earliest when it has been let go for so long.
    let idles = hosted.held > 0 ? idle : hosted.usedAt + idle - at
    if (hosted.busy || (idles <= 0 && hosted.inFlight > 0)) {
      hosted.touch()
      hosted.busy = hosted.inFlight > 0
      idles = hosted.busy ? coarseness : idle
    }
    if (idles <= 0) return this.#end(hosted, "idle")
    return Math.min(opensFor, ages, idles)
  }

  #end(hosted: HostedSession, by: keyof Lifetimes): number {
    const { runtime } = hosted.session
    const afterMillis = this.#options.lifetimes[by]
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

import type { CloseReason } from "@effect-mcp/protocol"
import type * as Effect from "effect/Effect"
import type * as Fiber from "effect/Fiber"
import type { Principal } from "../Principal.ts"
import type { Transport } from "../Transport.ts"
import type { ServedSession } from "./ServedSession.ts"

/** What a host makes of the sessions it keeps. */
export interface Keeper {
  /** Milliseconds since the epoch. */
  readonly now: () => number
  /** Ends a session for good, and waits until nothing of it is left. */
  readonly close: (hosted: HostedSession, reason: CloseReason.CloseReason) => Effect.Effect<void>
}

/** What distinguishes one session of a host from the others. */
export interface Identity {
  readonly id: string
  readonly kind: string
  readonly principal: Principal | undefined
  readonly transport: Transport["Service"]
  readonly openedAt: number
}

/**
 * One session of a host, as `SessionHost.Hosted` describes it, with what the host has to know besides.
 */
export class HostedSession {
  readonly id: string
  readonly kind: string
  readonly principal: Principal | undefined
  readonly transport: Transport["Service"]
  readonly openedAt: number
  readonly #keeper: Keeper
  #session: ServedSession | undefined
  usedAt: number
  /** How many hold it. */
  held = 0
  /** It would be idle, but for its requests in flight: it is in use until the host sees that they have ended. */
  busy = false
  phase: "Opening" | "Live" | "Ending" = "Opening"
  /** The store keeps it when it ends, since it goes on elsewhere or later. */
  kept = false
  /** When the store believes it was used; `undefined` where it does not know the session. */
  toldAt: number | undefined
  /** It has ended, and the host is about to forget it. */
  leaving: Fiber.Fiber<void> | undefined

  constructor(keeper: Keeper, identity: Identity) {
    this.#keeper = keeper
    this.id = identity.id
    this.kind = identity.kind
    this.principal = identity.principal
    this.transport = identity.transport
    this.openedAt = identity.openedAt
    this.usedAt = keeper.now()
  }

  get session(): ServedSession {
    if (this.#session === undefined) throw new Error(`session ${this.id} is not open yet`)
    return this.#session
  }

  /** How many requests are in flight, of both sides together. */
  get inFlight(): number {
    const { core } = this.session
    return core.inflight.size + core.exchanges.size
  }

  begin(session: ServedSession): void {
    this.#session = session
    this.phase = "Live"
  }

  touch(): void {
    this.usedAt = this.#keeper.now()
  }

  hold(): () => void {
    this.touch()
    this.held++
    let released = false
    return () => {
      if (released) return
      released = true
      this.held--
      this.touch()
    }
  }

  close(reason: CloseReason.CloseReason): Effect.Effect<void> {
    return this.#keeper.close(this, reason)
  }
}

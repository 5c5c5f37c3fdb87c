import type { CloseReason } from "@effect-mcp/protocol"
import type * as Effect from "effect/Effect"
import type * as Fiber from "effect/Fiber"
import type { Principal } from "../../Principal.ts"
import type { Transport } from "../../Transport.ts"
import { Link } from "../collections/LinkedList.ts"
import type { ServerSessionImplementation } from "../server/ServerSessionImplementation.ts"

/** The changes of its sessions that a host's places follow. */
interface Seating {
  /** A session is open. */
  enter(hosted: HostedSession): void
  /** A session has finished its handshake. */
  finish(hosted: HostedSession): void
  /** A session was used now. */
  use(hosted: HostedSession): void
  /** A connection holds a session. */
  hold(hosted: HostedSession): void
  /** No connection holds a session any more. */
  release(hosted: HostedSession): void
  /** A session begins to end. Its place is taken until it is given back. */
  leave(hosted: HostedSession): void
}

/** What a host makes of the sessions it keeps. */
export interface Keeper {
  /** Milliseconds since the epoch. */
  readonly now: () => number
  readonly places: Seating
  /** Ends a session for good, and waits until nothing of it is left. */
  readonly close: (hosted: HostedSession, reason: CloseReason.CloseReason) => Effect.Effect<void>
}

/** What distinguishes one session of a host from the others. */
export interface Identity {
  readonly id: string
  readonly kind: string
  readonly principal: Principal | undefined
  /** Distinguishes anonymous clients. */
  readonly client: string | undefined
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
  readonly client: string | undefined
  readonly transport: Transport["Service"]
  readonly openedAt: number
  readonly #keeper: Keeper
  #session: ServerSessionImplementation | undefined
  usedAt: number
  /** When the current step of its handshake began, here: its opening, or the answer to `initialize`. */
  handshakeAt: number
  /** Its handshake is finished. */
  operates = false
  /** Its place among the sessions of its owner that may be evicted. */
  readonly byOwner = new Link<HostedSession>(this)
  /** Its place among the sessions of its anonymous client, those that are held or those that are unused. */
  readonly byClient = new Link<HostedSession>(this)
  /** Its place among the sessions of all owners whose handshake is not finished. */
  readonly byAge = new Link<HostedSession>(this)
  /** The session ends to make room; its place is a newcomer's. */
  evicted = false
  /** How many hold it. */
  held = 0
  /** It would be idle, but for its requests in flight: it is in use until the host sees that they have ended. */
  busy = false
  phase: "Opening" | "Live" | "Ending" = "Opening"
  /** The store keeps it when it ends, since it goes on elsewhere or later. */
  kept = false
  /** Whether the store has it: perhaps, while it is being saved, or if that failed. */
  stored: "No" | "Perhaps" | "Yes" = "No"
  /** When the store believes it was used, if it has it. */
  toldAt = 0
  /** Removes the session from the host after it has closed. */
  removal: Fiber.Fiber<void> | undefined

  constructor(keeper: Keeper, identity: Identity) {
    this.#keeper = keeper
    this.id = identity.id
    this.kind = identity.kind
    this.principal = identity.principal
    this.client = identity.client
    this.transport = identity.transport
    this.openedAt = identity.openedAt
    this.usedAt = keeper.now()
    this.handshakeAt = this.usedAt
  }

  get session(): ServerSessionImplementation {
    if (this.#session === undefined) throw new Error(`session ${this.id} is not open yet`)
    return this.#session
  }

  /** How many requests are in flight, of both sides together. */
  get inFlight(): number {
    const { runtime } = this.session
    return runtime.inflight.size + runtime.exchanges.size
  }

  /** Since when it could be evicted: its last use, or the last step of a handshake that is not finished. */
  get aloneSince(): number {
    return this.operates ? this.usedAt : this.handshakeAt
  }

  /** The host keeps it, or has kept it. */
  get hasBegun(): boolean {
    return this.#session !== undefined
  }

  begin(session: ServerSessionImplementation): void {
    this.#session = session
    this.phase = "Live"
    this.#keeper.places.enter(this)
  }

  /** The client has been told what was agreed on. */
  negotiated(): void {
    this.handshakeAt = this.#keeper.now()
  }

  /** The handshake is finished. */
  operating(): void {
    if (this.phase === "Live") this.#keeper.places.finish(this)
    else this.operates = true
  }

  /** The session begins to end: it cannot be found any more. */
  beginToEnd(): void {
    const { phase } = this
    this.phase = "Ending"
    if (phase === "Live") this.#keeper.places.leave(this)
  }

  touch(): void {
    this.usedAt = this.#keeper.now()
    if (this.phase === "Live") this.#keeper.places.use(this)
  }

  hold(): () => void {
    this.usedAt = this.#keeper.now()
    if (this.held++ === 0 && this.phase === "Live") this.#keeper.places.hold(this)
    let released = false
    return () => {
      if (released) return
      released = true
      this.usedAt = this.#keeper.now()
      if (--this.held === 0 && this.phase === "Live") this.#keeper.places.release(this)
    }
  }

  close(reason: CloseReason.CloseReason): Effect.Effect<void> {
    return this.#keeper.close(this, reason)
  }
}

/** One session of a host: its identity, its use, and its links in the lists of the host. */

import type { CloseReason } from "@effect-mcp/protocol"
import type * as Effect from "effect/Effect"
import type * as Fiber from "effect/Fiber"
import type { Principal } from "../../Principal.ts"
import type { Transport } from "../../Transport.ts"
import { Link } from "../collections/LinkedList.ts"
import type { ServerSessionImplementation } from "../server/ServerSessionImplementation.ts"
import type { SessionFacts } from "./SessionFacts.ts"

/** The slots of a host, as its sessions update them. */
interface SlotUpdates {
  /** Adds a session that was opened. */
  enter(hosted: HostedSession): void
  /** Records that the handshake of a session is finished. */
  finish(hosted: HostedSession): void
  /** Records that a session is used now. */
  use(hosted: HostedSession): void
  /** Records the first hold of a session. */
  hold(hosted: HostedSession): void
  /** Records that the last hold of a session was released. */
  release(hosted: HostedSession): void
  /** Records that a session begins to close. Its slot stays taken until it is freed. */
  leave(hosted: HostedSession): void
}

/** The parts of a host that its sessions need. */
export interface HostedSessionDependencies {
  /** Milliseconds since the epoch. */
  readonly now: () => number
  readonly slots: SlotUpdates
  /** Closes a session permanently, and waits until nothing of it is left. */
  readonly close: (hosted: HostedSession, reason: CloseReason.CloseReason) => Effect.Effect<void>
  /** Sends an update of each resource that the client is subscribed to. */
  readonly sendUpdates: (hosted: HostedSession) => void
  /** Closes a copy of a session that another process has now. */
  readonly supersede: (hosted: HostedSession) => void
}

/** The identity of a session in its host. */
export interface Identity {
  readonly id: string
  readonly kind: string
  readonly principal: Principal | undefined
  /** Distinguishes anonymous clients. */
  readonly client: string | undefined
  readonly transport: Transport["Service"]
  readonly openedAt: number
  /** The epoch of this copy of the session. */
  readonly epoch: number
  /** Whether this process claims the session. */
  readonly isOwned: boolean
  /** The time at which the session ends, because the identity of its connection expires; `Infinity` if it does not. */
  readonly endsAt: number
}

/** One session of a host: `SessionHost.Hosted`, and the data that only the host uses. */
export class HostedSession {
  readonly id: string
  readonly kind: string
  readonly principal: Principal | undefined
  readonly client: string | undefined
  readonly transport: Transport["Service"]
  readonly openedAt: number
  readonly epoch: number
  readonly isOwned: boolean
  readonly endsAt: number
  readonly #dependencies: HostedSessionDependencies
  #session: ServerSessionImplementation | undefined
  usedAt: number
  /** The time at which the current step of the handshake began here: the opening, or the response to `initialize`. */
  handshakeAt: number
  /** Whether the handshake is finished, or the client needs none. */
  operates = false
  /** The link among the sessions of the same owner that can be evicted. */
  readonly byOwner = new Link<HostedSession>(this)
  /** The link among the sessions of the same anonymous client: the held ones, or the unused ones. */
  readonly byClient = new Link<HostedSession>(this)
  /** The link among the sessions of all owners whose handshake is not finished. */
  readonly byAge = new Link<HostedSession>(this)
  /** Whether the session closes to make room. If it does, its slot belongs to a newcomer. */
  evicted = false
  /** The number of holds. */
  held = 0
  /** Whether the session is in use only because of requests in flight, when the host checked it last. */
  busy = false
  phase: "Opening" | "Live" | "Ending" = "Opening"
  /** Whether another process has the session now. */
  isSuperseded = false
  /** Whether the session stays in the store after it has closed, to be restored later or by another host. */
  keptInStore = false
  /** Whether the store has the session. `Perhaps`: it is being saved, or saving it has failed. */
  stored: "No" | "Perhaps" | "Yes" = "No"
  /** The log level and the subscriptions of the client, after the first of them. */
  facts: SessionFacts | undefined
  /** Whether the client may have missed updates of resources, because no process had its session. */
  missesUpdates = false
  /** The last use that the store knows, if the store has the session. */
  storedUsedAt = 0
  /** The fiber that removes the session from the host after it has closed. */
  removal: Fiber.Fiber<void> | undefined

  constructor(dependencies: HostedSessionDependencies, identity: Identity) {
    this.#dependencies = dependencies
    this.id = identity.id
    this.kind = identity.kind
    this.principal = identity.principal
    this.client = identity.client
    this.transport = identity.transport
    this.openedAt = identity.openedAt
    this.epoch = identity.epoch
    this.isOwned = identity.isOwned
    this.endsAt = identity.endsAt
    this.usedAt = dependencies.now()
    this.handshakeAt = this.usedAt
  }

  get session(): ServerSessionImplementation {
    if (this.#session === undefined) throw new Error(`session ${JSON.stringify(this.id)}: not open yet`)
    return this.#session
  }

  /** The number of requests in flight, in both directions together. */
  get inFlight(): number {
    const { runtime } = this.session
    return runtime.inflight.size + runtime.exchanges.size
  }

  /** The last use as other processes learn of it: a session that is held, or has a request in flight, is used now. */
  get lastUsedAt(): number {
    return this.held > 0 || this.inFlight > 0 ? this.#dependencies.now() : this.usedAt
  }

  /** The start of the time for which it is unused: its last use, or the last step of an unfinished handshake. */
  get unusedSince(): number {
    return this.operates ? this.usedAt : this.handshakeAt
  }

  /** Whether the session was opened. It may have closed again. */
  get wasOpened(): boolean {
    return this.#session !== undefined
  }

  /** Records that the session is open. */
  begin(session: ServerSessionImplementation): void {
    this.#session = session
    this.phase = "Live"
    this.#dependencies.slots.enter(this)
  }

  /** Records that the response to `initialize` is sent. */
  negotiated(): void {
    this.handshakeAt = this.#dependencies.now()
  }

  /**
   * Records that the handshake is finished, or that the client needs none. A connection that serves both eras does so
   * twice, and counts once.
   */
  operating(): void {
    if (this.operates) return
    if (this.phase === "Live") this.#dependencies.slots.finish(this)
    else this.operates = true
  }

  /** Records that the session begins to close, so that the host no longer finds it. */
  beginToEnd(): void {
    const { phase } = this
    this.phase = "Ending"
    if (phase === "Live") this.#dependencies.slots.leave(this)
  }

  touch(): void {
    this.usedAt = this.#dependencies.now()
    if (this.phase === "Live") this.#dependencies.slots.use(this)
  }

  hold(): () => void {
    this.usedAt = this.#dependencies.now()
    if (this.held++ === 0 && this.phase === "Live") this.#dependencies.slots.hold(this)
    let released = false
    return () => {
      if (released) return
      released = true
      this.usedAt = this.#dependencies.now()
      if (--this.held === 0 && this.phase === "Live") this.#dependencies.slots.release(this)
    }
  }

  reach(): void {
    if (!this.missesUpdates) return
    this.missesUpdates = false
    this.#dependencies.sendUpdates(this)
  }

  close(reason: CloseReason.CloseReason): Effect.Effect<void> {
    return this.#dependencies.close(this, reason)
  }

  supersede(): void {
    this.#dependencies.supersede(this)
  }
}

/** The slots of a host: the sessions that occupy them, and the session that loses its slot to a newcomer. */

import type { Principal } from "../../Principal.ts"
import { LinkedList } from "../collections/LinkedList.ts"
import { RateLimit } from "../engine/RateLimit.ts"
import { type AnonymousClient, AnonymousClients } from "./AnonymousClients.ts"
import type { HostedSession } from "./HostedSession.ts"
import type { ResolvedLimits } from "./ResolvedLimits.ts"

/** The time in milliseconds for which a session cannot be evicted after its opening, and after each use. */
export const graceMillis = 3000

/** An anonymous client that has over this many unfinished handshakes more than the newcomer has no grace. */
const crowd = 16

/** The number of sessions that are checked for one newcomer, so that its cost does not depend on their number. */
const maxChecked = 64

/** The bounds of `retryAfterMillis`. */
const minRetryMillis = 1000
const maxRetryMillis = 300_000

/** The client of a session that is to be opened. */
export interface Newcomer {
  readonly principal: Principal | undefined
  /** Distinguishes anonymous clients, for example by their addresses. */
  readonly client: string | undefined
}

/** The result for a newcomer that has a slot. */
export interface Taken {
  readonly _tag: "Taken"
  /** The session that had this slot. The caller has to close it. */
  readonly victim: HostedSession | undefined
}

/** The result for a newcomer that has no slot. */
export interface Full {
  readonly _tag: "Full"
  readonly scope: "host" | "principal"
  readonly limit: number
  /** The time until a slot may be free, if it is known. */
  readonly retryAfterMillis: number | undefined
}

/** The parts of a host that its slots need. */
export interface Options {
  readonly limits: ResolvedLimits
  /** The wall-clock time, in which the fields of a `HostedSession` are, in milliseconds. */
  readonly now: () => number
  /** The time of a clock that never jumps, in milliseconds. */
  readonly steady: () => number
}

/** The sessions of one principal, or of all anonymous clients. */
class Owner {
  readonly id: string | undefined
  /** The number of its slots, including those of sessions that are being opened. */
  slots = 0
  /** The sessions whose handshake is not finished, the oldest one first. */
  readonly handshaking = new LinkedList<HostedSession>()
  /** The sessions that operate and are not held, the least recently used one first. */
  readonly unused = new LinkedList<HostedSession>()

  constructor(id: string | undefined) {
    this.id = id
  }
}

/**
 * The slots of a host. If all are taken, a newcomer gets the slot of a victim, which `HostLimits.Options` describes.
 * Held sessions are only in the list of their anonymous client. A victim is therefore at the front of a list, and
 * finding it takes a time that does not depend on the number of sessions.
 */
export class SessionSlots {
  readonly #options: Options
  readonly #owners = new Map<string, Owner>()
  readonly #anonymous = new Owner(undefined)
  /** The sessions of all owners whose handshake is not finished, the oldest one first. */
  readonly #handshaking = new LinkedList<HostedSession>()
  readonly #clients = new AnonymousClients()
  /** The anonymous client that has more than half of all slots, if there is one. */
  #largest: AnonymousClient | undefined
  readonly #anonymousRate: RateLimit
  #taken = 0
  #unfinished = 0

  constructor(options: Options) {
    this.#options = options
    this.#anonymousRate = new RateLimit(options.limits.maxAnonymousEvictionsPerSecond)
  }

  /** The number of slots that are taken. */
  get taken(): number {
    return this.#taken
  }

  /** The number of sessions whose handshake is not finished. */
  get handshaking(): number {
    return this.#unfinished
  }

  /** Returns why a newcomer would not get a slot now; `undefined` if it would. */
  look(newcomer: Newcomer): Full | undefined {
    const scope = this.#scope(newcomer)
    return scope === undefined || this.#victim(newcomer) !== undefined ? undefined : this.#full(newcomer, scope)
  }

  /** Takes a slot for a newcomer: a free one, or that of a victim, which the caller has to close. */
  take(newcomer: Newcomer): Taken | Full {
    const scope = this.#scope(newcomer)
    const victim = scope === undefined ? undefined : this.#victim(newcomer)
    if (scope !== undefined && victim === undefined) return this.#full(newcomer, scope)
    if (victim !== undefined) this.#evict(victim, newcomer)
    this.#taken++
    this.#ownerOf(newcomer.principal).slots++
    return { _tag: "Taken", victim }
  }

  /** Frees a slot. */
  free(principal: Principal | undefined): void {
    const owner = this.#ownerOf(principal)
    this.#taken--
    owner.slots--
    if (owner.id !== undefined && owner.slots === 0) this.#owners.delete(owner.id)
  }

  // ===================================================================================================================
  // The sessions in the slots
  // ===================================================================================================================

  /** Adds a session that was opened. */
  enter(hosted: HostedSession): void {
    const client = this.#clients.enter(hosted)
    if (client !== undefined && client.sessions > this.#options.limits.max / 2) this.#largest = client
    if (!hosted.operates) this.#unfinish(hosted, 1)
    if (hosted.held === 0) this.#list(hosted)
    else client?.held.add(hosted.byClient)
  }

  /** Moves a session whose handshake is finished to the sessions that operate. */
  finish(hosted: HostedSession): void {
    const listed = hosted.held === 0
    if (listed) this.#unlist(hosted)
    hosted.operates = true
    this.#unfinish(hosted, -1)
    if (listed) this.#list(hosted)
  }

  /** Moves a session that is used now to the end of its lists. */
  use(hosted: HostedSession): void {
    if (!hosted.operates || hosted.held > 0) return
    this.#ownerOf(hosted.principal).unused.moveToEnd(hosted.byOwner)
    this.#clients.of(hosted)?.unused.moveToEnd(hosted.byClient)
  }

  /** Moves a session with its first hold to the held sessions. */
  hold(hosted: HostedSession): void {
    this.#unlist(hosted)
    this.#clients.of(hosted)?.held.add(hosted.byClient)
  }

  /** Moves a session whose last hold was released to the unused sessions. */
  release(hosted: HostedSession): void {
    this.#clients.of(hosted)?.held.remove(hosted.byClient)
    this.#list(hosted)
  }

  /** Removes a session that begins to close from all lists. Its slot stays taken until `free`. */
  leave(hosted: HostedSession): void {
    const client = this.#clients.of(hosted)
    if (hosted.held === 0) this.#unlist(hosted)
    else client?.held.remove(hosted.byClient)
    if (!hosted.operates) this.#unfinish(hosted, -1)
    this.#clients.leave(hosted)
    if (client !== undefined && client === this.#largest && client.sessions <= this.#options.limits.max / 2) {
      this.#largest = undefined
    }
  }

  #list(hosted: HostedSession): void {
    const owner = this.#ownerOf(hosted.principal)
    if (hosted.operates) {
      owner.unused.add(hosted.byOwner)
      this.#clients.of(hosted)?.unused.add(hosted.byClient)
      return
    }
    owner.handshaking.add(hosted.byOwner)
    this.#handshaking.add(hosted.byAge)
  }

  #unlist(hosted: HostedSession): void {
    const owner = this.#ownerOf(hosted.principal)
    if (hosted.operates) {
      owner.unused.remove(hosted.byOwner)
      this.#clients.of(hosted)?.unused.remove(hosted.byClient)
      return
    }
    owner.handshaking.remove(hosted.byOwner)
    this.#handshaking.remove(hosted.byAge)
  }

  #unfinish(hosted: HostedSession, by: 1 | -1): void {
    this.#unfinished += by
    const client = this.#clients.of(hosted)
    if (client !== undefined) client.handshakes += by
  }

  #ownerOf(principal: Principal | undefined): Owner {
    if (principal === undefined) return this.#anonymous
    const known = this.#owners.get(principal.id)
    if (known !== undefined) return known
    const owner = new Owner(principal.id)
    this.#owners.set(principal.id, owner)
    return owner
  }

  // ===================================================================================================================
  // Making room
  // ===================================================================================================================

  /** Returns the owner of the newcomer's own sessions, if its principal has any. */
  #own({ principal }: Newcomer): Owner | undefined {
    return principal === undefined ? undefined : this.#owners.get(principal.id)
  }

  /** Returns which limit leaves no free slot for a newcomer; `undefined` if there is a free slot. */
  #scope(newcomer: Newcomer): Full["scope"] | undefined {
    const { max, maxPerPrincipal } = this.#options.limits
    if ((this.#own(newcomer)?.slots ?? 0) >= maxPerPrincipal) return "principal"
    return this.#taken >= max ? "host" : undefined
  }

  #full(newcomer: Newcomer, scope: Full["scope"]): Full {
    const { max, maxPerPrincipal } = this.#options.limits
    return {
      _tag: "Full",
      scope,
      limit: scope === "host" ? max : maxPerPrincipal,
      retryAfterMillis: this.#retryAfter(newcomer)
    }
  }

  #victim(newcomer: Newcomer): HostedSession | undefined {
    const now = this.#options.now()
    const own = this.#own(newcomer)
    if (this.#scope(newcomer) === "principal") {
      return own && (this.#first(own.handshaking, graceMillis, now) ?? this.#first(own.unused, graceMillis, now))
    }
    return this.#first(this.#handshaking, graceMillis, now) ??
      this.#crowding(newcomer) ??
      (own && this.#first(own.unused, graceMillis, now)) ??
      (this.#anonymousWait(newcomer) > 0 ? undefined : this.#anonymousVictim(newcomer, now))
  }

  /**
   * Returns an anonymous victim. The newcomer's own sessions come first. Those of a client that has more than half of
   * all slots come next: otherwise this client could use its sessions so often that only those of other clients were
   * evicted.
   */
  #anonymousVictim(newcomer: Newcomer, now: number): HostedSession | undefined {
    const own = this.#ownAnonymous(newcomer)
    const dominant = this.#dominant(newcomer)
    return (own && this.#first(own, graceMillis, now)) ??
      (dominant && this.#first(dominant.unused, graceMillis, now)) ??
      this.#heldOf(dominant, now) ??
      this.#first(this.#anonymous.unused, this.#anonymousEvictionTimeout(newcomer), now)
  }

  /** Returns the session of a client that is held for longest, in use or not: a client could hold all its sessions. */
  #heldOf(client: AnonymousClient | undefined, now: number): HostedSession | undefined {
    const hosted = client?.held.first?.value
    return hosted === undefined || hosted.openedAt + graceMillis > now ? undefined : hosted
  }

  /**
   * Returns the first session of a list that is unused for this long. A session with requests in flight is in use, so
   * it moves to the end of its list and is not checked again before all others.
   */
  #first(list: LinkedList<HostedSession>, afterMillis: number, now: number): HostedSession | undefined {
    for (let count = 0; count < maxChecked; count++) {
      const hosted = list.first?.value
      if (hosted === undefined || hosted.unusedSince + afterMillis > now) return undefined
      if (hosted.inFlight === 0) return hosted
      hosted.touch()
      if (hosted.operates) continue
      this.#unlist(hosted)
      this.#list(hosted)
    }
    return undefined
  }

  /**
   * Returns the oldest unfinished handshake of a client that has many more of them than the newcomer. Such a client has
   * no grace: it could otherwise keep all others out by opening sessions faster than their grace ends.
   */
  #crowding({ client, principal }: Newcomer): HostedSession | undefined {
    if (principal === undefined && client === undefined) return undefined
    const own = principal === undefined && client !== undefined ? this.#clients.handshakesOf(client) : 0
    return this.#firstOf(this.#handshaking, (other) => this.#clients.handshakesOf(other) > own + crowd)
  }

  /**
   * Returns the unused sessions of an anonymous newcomer. Clients at one address count as one, so the rate of anonymous
   * evictions bounds how fast one of them can replace the sessions of the others.
   */
  #ownAnonymous({ client, principal }: Newcomer): LinkedList<HostedSession> | undefined {
    if (principal !== undefined || client === undefined || !this.#evictsAnonymous) return undefined
    return this.#clients.unusedOf(client)
  }

  /** Whether an anonymous newcomer can take the slot of an anonymous session that operates. */
  get #evictsAnonymous(): boolean {
    return this.#options.limits.anonymousEvictionTimeout !== Number.POSITIVE_INFINITY
  }

  /**
   * Returns the client that has more than half of all slots, unless it is the newcomer. Such a client could keep all
   * others out by using or holding each of its sessions.
   */
  #dominant({ client, principal }: Newcomer): AnonymousClient | undefined {
    if (!this.#evictsAnonymous) return undefined
    const isOther = principal !== undefined || (client !== undefined && client !== this.#largest?.name)
    return isOther ? this.#largest : undefined
  }

  /** Returns the first session of a list that has no requests in flight and belongs to such an anonymous client. */
  #firstOf(list: LinkedList<HostedSession>, isSuch: (client: string) => boolean): HostedSession | undefined {
    let link = list.first
    for (let count = 0; count < maxChecked && link !== undefined; count++) {
      const { client, inFlight, principal } = link.value
      if (principal === undefined && client !== undefined && isSuch(client) && inFlight === 0) return link.value
      link = link.next
    }
    return undefined
  }

  /**
   * Returns how long an anonymous session must be unused for this newcomer. A principal is accountable and limited in
   * its sessions, so it does not wait for anonymous ones.
   */
  #anonymousEvictionTimeout({ principal }: Newcomer): number {
    return principal === undefined ? Math.max(this.#options.limits.anonymousEvictionTimeout, graceMillis) : graceMillis
  }

  #anonymousWait({ principal }: Newcomer): number {
    return principal === undefined ? this.#anonymousRate.wait(this.#options.steady()) : 0
  }

  #evict(victim: HostedSession, newcomer: Newcomer): void {
    const isAnonymous = newcomer.principal === undefined && victim.principal === undefined
    if (isAnonymous && victim.operates) this.#anonymousRate.take(this.#options.steady())
    victim.evicted = true
    victim.beginToEnd()
    this.free(victim.principal)
  }

  /** Returns the time until a newcomer may get a slot, if it is known. */
  #retryAfter(newcomer: Newcomer): number | undefined {
    const now = this.#options.now()
    const own = this.#own(newcomer)
    const wait = (hosted: HostedSession | undefined, afterMillis: number) =>
      hosted === undefined ? Number.POSITIVE_INFINITY : hosted.unusedSince + afterMillis - now
    const dominant = this.#dominant(newcomer)
    const held = dominant?.held.first?.value
    const dueIn = (list: LinkedList<HostedSession> | undefined, afterMillis: number) =>
      wait(list?.first?.value, afterMillis)
    const retryAfter = this.#scope(newcomer) === "principal"
      ? Math.min(dueIn(own?.handshaking, graceMillis), dueIn(own?.unused, graceMillis))
      : Math.min(
        dueIn(this.#handshaking, graceMillis),
        dueIn(own?.unused, graceMillis),
        dueIn(this.#anonymous.unused, this.#options.limits.idleTimeout),
        Math.max(
          Math.min(
            dueIn(this.#anonymous.unused, this.#anonymousEvictionTimeout(newcomer)),
            dueIn(this.#ownAnonymous(newcomer), graceMillis),
            dueIn(dominant?.unused, graceMillis),
            held === undefined ? Number.POSITIVE_INFINITY : held.openedAt + graceMillis - now
          ),
          this.#anonymousWait(newcomer)
        )
      )
    return retryAfter === Number.POSITIVE_INFINITY
      ? undefined
      : Math.min(Math.max(retryAfter, minRetryMillis), maxRetryMillis)
  }
}

import type { HostLimits } from "../../HostLimits.ts"
import type { Principal } from "../../Principal.ts"
import { LinkedList } from "../collections/LinkedList.ts"
import { RateLimit } from "../engine/RateLimit.ts"
import { type AnonymousClient, AnonymousClients } from "./AnonymousClients.ts"
import type { HostedSession } from "./HostedSession.ts"

/** The time after its opening, and after each use, in which a session cannot be evicted, in milliseconds. */
export const graceMillis = 3000

/** The number of unfinished handshakes more than the newcomer's that lose a client its grace. */
const crowd = 16

/** The sessions that are looked at for one newcomer, so that choosing a victim costs little however many there are. */
const looks = 64

/** The bounds of what a refused client is told to wait, in milliseconds. */
const leastWait = 1000
const longestWait = 300_000

/** The client of a session that is to be opened. */
export interface Newcomer {
  readonly principal: Principal | undefined
  /** Distinguishes anonymous clients, such as by their addresses. */
  readonly client: string | undefined
}

/** A newcomer has a place. */
export interface Taken {
  readonly _tag: "Taken"
  /** The session that had this place, and has to end. */
  readonly victim: HostedSession | undefined
}

/** A newcomer has no place. */
export interface Refused {
  readonly _tag: "Refused"
  readonly scope: "host" | "principal"
  readonly limit: number
  /** The time until there is room, if it is known. */
  readonly retryAfterMillis: number | undefined
}

/** The needs of a host's places. */
export interface Options {
  readonly limits: HostLimits
  /** The time that the fields of a `HostedSession` are in. */
  readonly now: () => number
  /** The time of a clock that never jumps. */
  readonly steady: () => number
}

/** The sessions of one principal, or those of all anonymous clients. */
class Owner {
  readonly id: string | undefined
  /** The places of sessions, and of those that are being opened. */
  places = 0
  /** The sessions whose handshake is not finished, the oldest first. */
  readonly handshaking = new LinkedList<HostedSession>()
  /** The sessions that operate, the one that is unused for longest first. */
  readonly unused = new LinkedList<HostedSession>()

  constructor(id: string | undefined) {
    this.id = id
  }
}

/**
 * The places of a host: their owners, and the session that loses its place when a newcomer finds all of them taken.
 * `HostLimits.Options` describes the policy. Sessions that are held are in no list but that of their client, so that a
 * victim is found at the front of a list, in a time that does not depend on the number of sessions.
 */
export class SessionSlots {
  readonly #options: Options
  readonly #owners = new Map<string, Owner>()
  readonly #anonymous = new Owner(undefined)
  /** The sessions of all owners whose handshake is not finished, the oldest first. */
  readonly #handshaking = new LinkedList<HostedSession>()
  readonly #clients = new AnonymousClients()
  /** The anonymous client that has more than half of all places, if there is one. No two clients can. */
  #largest: AnonymousClient | undefined
  readonly #anonymousRate: RateLimit
  #taken = 0
  #unfinished = 0

  constructor(options: Options) {
    this.#options = options
    this.#anonymousRate = new RateLimit(options.limits.maxAnonymousEvictionsPerSecond)
  }

  /** The number of places that are taken. */
  get taken(): number {
    return this.#taken
  }

  /** The number of sessions whose handshake is not finished. */
  get handshaking(): number {
    return this.#unfinished
  }

  /** Returns the reason why a newcomer would not get a place now, if there is one. */
  look(newcomer: Newcomer): Refused | undefined {
    const scope = this.#scope(newcomer)
    return scope === undefined || this.#victim(newcomer) !== undefined ? undefined : this.#refuse(newcomer, scope)
  }

  /** Takes a place for a newcomer, if need be that of another session, which the caller has to end. */
  take(newcomer: Newcomer): Taken | Refused {
    const scope = this.#scope(newcomer)
    const victim = scope === undefined ? undefined : this.#victim(newcomer)
    if (scope !== undefined && victim === undefined) return this.#refuse(newcomer, scope)
    if (victim !== undefined) this.#evict(victim, newcomer)
    this.#taken++
    this.#ownerOf(newcomer.principal).places++
    return { _tag: "Taken", victim }
  }

  /** Frees a slot. */
  free(principal: Principal | undefined): void {
    const owner = this.#ownerOf(principal)
    this.#taken--
    owner.places--
    if (owner.id !== undefined && owner.places === 0) this.#owners.delete(owner.id)
  }

  // ===================================================================================================================
  // The sessions in them
  // ===================================================================================================================

  /** A session is open. */
  enter(hosted: HostedSession): void {
    const client = this.#clients.enter(hosted)
    if (client !== undefined && client.sessions > this.#options.limits.max / 2) this.#largest = client
    if (!hosted.operates) this.#unfinish(hosted, 1)
    if (hosted.held === 0) this.#list(hosted)
    else client?.held.add(hosted.byClient)
  }

  /** A session has finished its handshake. */
  finish(hosted: HostedSession): void {
    const listed = hosted.held === 0
    if (listed) this.#unlist(hosted)
    hosted.operates = true
    this.#unfinish(hosted, -1)
    if (listed) this.#list(hosted)
  }

  /** A session was used now. */
  use(hosted: HostedSession): void {
    if (!hosted.operates || hosted.held > 0) return
    this.#ownerOf(hosted.principal).unused.moveToEnd(hosted.byOwner)
    this.#clients.of(hosted)?.unused.moveToEnd(hosted.byClient)
  }

  /** A connection holds a session. */
  hold(hosted: HostedSession): void {
    this.#unlist(hosted)
    this.#clients.of(hosted)?.held.add(hosted.byClient)
  }

  /** No connection holds a session any more. */
  release(hosted: HostedSession): void {
    this.#clients.of(hosted)?.held.remove(hosted.byClient)
    this.#list(hosted)
  }

  /** A session begins to end. Its place is taken until it is given back. */
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

  /** The owner of a principal's sessions, if it has any. */
  #own({ principal }: Newcomer): Owner | undefined {
    return principal === undefined ? undefined : this.#owners.get(principal.id)
  }

  /** Returns the limit that leaves no place for a newcomer, if there is one. */
  #scope(newcomer: Newcomer): Refused["scope"] | undefined {
    const { max, maxPerPrincipal } = this.#options.limits
    if ((this.#own(newcomer)?.places ?? 0) >= maxPerPrincipal) return "principal"
    return this.#taken >= max ? "host" : undefined
  }

  #refuse(newcomer: Newcomer, scope: Refused["scope"]): Refused {
    const { max, maxPerPrincipal } = this.#options.limits
    return {
      _tag: "Refused",
      scope,
      limit: scope === "host" ? max : maxPerPrincipal,
      retryAfterMillis: this.#roomIn(newcomer)
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
   * An anonymous session. Those of a client that has more than half of all places make room before any other: it could
   * use its own so often that those of the others were unused for longer.
   */
  #anonymousVictim(newcomer: Newcomer, now: number): HostedSession | undefined {
    const dominant = this.#dominant(newcomer)
    return (dominant && this.#first(dominant.unused, graceMillis, now)) ??
      this.#heldOf(dominant, now) ??
      this.#first(this.#anonymous.unused, this.#anonymousEvictionTimeout(newcomer), now)
  }

  /** The session of a client that is held for longest, whatever is done in it: a client could hold each of its own. */
  #heldOf(client: AnonymousClient | undefined, now: number): HostedSession | undefined {
    const hosted = client?.held.first?.value
    return hosted === undefined || hosted.openedAt + graceMillis > now ? undefined : hosted
  }

  /**
   * The first session of a list that was left alone for this long. A session with requests in flight is in use, and
   * goes to the end of its list. So a look at it is paid for once, until all others have been looked at.
   */
  #first(list: LinkedList<HostedSession>, afterMillis: number, now: number): HostedSession | undefined {
    for (let count = 0; count < looks; count++) {
      const hosted = list.first?.value
      if (hosted === undefined || hosted.aloneSince + afterMillis > now) return undefined
      if (hosted.inFlight === 0) return hosted
      hosted.touch()
      if (hosted.operates) continue
      this.#unlist(hosted)
      this.#list(hosted)
    }
    return undefined
  }

  /**
   * The oldest handshake of a client that has many more of them than the newcomer. The grace protects no such client:
   * it could keep all others out by opening sessions faster than their grace ends.
   */
  #crowding({ client, principal }: Newcomer): HostedSession | undefined {
    if (principal === undefined && client === undefined) return undefined
    const own = principal === undefined && client !== undefined ? this.#clients.handshakesOf(client) : 0
    return this.#firstOf(this.#handshaking, (other) => this.#clients.handshakesOf(other) > own + crowd)
  }

  /**
   * The client that has more than half of all places, if it is another than the newcomer. It could keep all others out
   * by using or holding each of its sessions.
   */
  #dominant({ client, principal }: Newcomer): AnonymousClient | undefined {
    if (this.#options.limits.anonymousEvictionTimeout === Number.POSITIVE_INFINITY) return undefined
    const isOther = principal !== undefined || (client !== undefined && client !== this.#largest?.name)
    return isOther ? this.#largest : undefined
  }

  /** The first session of a list that has no requests in flight, and is of such an anonymous client. */
  #firstOf(list: LinkedList<HostedSession>, isSuch: (client: string) => boolean): HostedSession | undefined {
    let link = list.first
    for (let count = 0; count < looks && link !== undefined; count++) {
      const { client, inFlight, principal } = link.value
      if (principal === undefined && client !== undefined && isSuch(client) && inFlight === 0) return link.value
      link = link.next
    }
    return undefined
  }

  /** A principal is accountable for its sessions, and bounded in their number: it need not wait for anonymous ones. */
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

  /** The time until there is room for a newcomer that was refused, as far as it is known. */
  #roomIn(newcomer: Newcomer): number | undefined {
    const now = this.#options.now()
    const own = this.#own(newcomer)
    const wait = (hosted: HostedSession | undefined, afterMillis: number) =>
      hosted === undefined ? Number.POSITIVE_INFINITY : hosted.aloneSince + afterMillis - now
    const dominant = this.#dominant(newcomer)
    const held = dominant?.held.first?.value
    const dueIn = (list: LinkedList<HostedSession> | undefined, afterMillis: number) =>
      wait(list?.first?.value, afterMillis)
    const room = this.#scope(newcomer) === "principal"
      ? Math.min(dueIn(own?.handshaking, graceMillis), dueIn(own?.unused, graceMillis))
      : Math.min(
        dueIn(this.#handshaking, graceMillis),
        dueIn(own?.unused, graceMillis),
        dueIn(this.#anonymous.unused, this.#options.limits.idle),
        Math.max(
          Math.min(
            dueIn(this.#anonymous.unused, this.#anonymousEvictionTimeout(newcomer)),
            dueIn(dominant?.unused, graceMillis),
            held === undefined ? Number.POSITIVE_INFINITY : held.openedAt + graceMillis - now
          ),
          this.#anonymousWait(newcomer)
        )
      )
    return room === Number.POSITIVE_INFINITY ? undefined : Math.min(Math.max(room, leastWait), longestWait)
  }
}

import type { JsonRpc, Meta, RequestId } from "@effect-mcp/protocol"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type * as Fiber from "effect/Fiber"
import type { Principal } from "../../Principal.ts"
import type { StreamOrigin } from "../../Transport.ts"
import type { Room } from "./Capacity.ts"

/**
 * One request of the peer, with the fiber of its handler.
 */
export interface Served {
  readonly id: RequestId.RequestId
  readonly method: string
  readonly origin: StreamOrigin | undefined
  /** The bytes of heap it takes, as far as it came in bytes. */
  readonly bytes: number
  readonly principal: Principal | undefined
  readonly progressToken: Meta.ProgressToken | undefined
  /** The highest progress reported so far; the next must be higher. */
  highest: number
  /** When the latest step of progress was sent, on the session's clock. */
  reportedAt: number
  /** Its reply is given, or will never be: what its handler still says is dropped. */
  ended: boolean
  /** Its reply is given, and not on its way yet. */
  answered: boolean
  fiber: Fiber.Fiber<unknown, unknown> | undefined
}

/** The entry of a request that is about to be served. */
export const entry = (
  { id, method, params }: JsonRpc.Request,
  from: { readonly origin: StreamOrigin | undefined; readonly bytes: number; readonly principal: Principal | undefined }
): Served => ({
  id,
  method,
  origin: from.origin,
  bytes: from.bytes,
  principal: from.principal,
  progressToken: progressTokenOf(params),
  highest: Number.NEGATIVE_INFINITY,
  reportedAt: Number.NEGATIVE_INFINITY,
  ended: false,
  answered: false,
  fiber: undefined
})

const progressTokenOf = (params: JsonRpc.Params | undefined): Meta.ProgressToken | undefined => {
  const meta = params?.["_meta"]
  if (typeof meta !== "object" || meta === null || !("progressToken" in meta)) return undefined
  const token = meta.progressToken
  return typeof token === "string" || typeof token === "number" ? token : undefined
}

/** Has its handler sent a step of its progress? */
export const hasReported = (served: Served): boolean => served.reportedAt !== Number.NEGATIVE_INFINITY

/** Stops a handler. One that is just being started has no fiber yet; whoever starts it looks at `ended` next. */
export const interrupt = (served: Served): void => {
  served.ended = true
  served.fiber?.interruptUnsafe()
}

/**
 * The requests of the peer that are being served. The reply, a cancellation and the end of the session each try to claim an
 * entry, in one step; whoever gets it acts, the others find nothing.
 */
export class IncomingRequests {
  readonly #room: Room
  #table: Map<RequestId.RequestId, Served> | undefined
  /** Those that have been claimed: their handlers' fibers may live on for a moment, or longer if they cannot be interrupted. */
  #claimed: Set<Served> | undefined
  #waiters: Array<Deferred.Deferred<void>> | undefined

  constructor(room: Room) {
    this.#room = room
  }

  /** How many handlers' fibers there are, or replies that are not on their way. */
  get size(): number {
    return (this.#table?.size ?? 0) + (this.#claimed?.size ?? 0)
  }

  /** Puts an entry in, or says why there is no room for it. Its id must be free. */
  open(served: Served): string | undefined {
    const full = this.#room.take(served.bytes)
    if (full !== undefined) return full
    this.#table ??= new Map()
    this.#table.set(served.id, served)
    return undefined
  }

  /** The one with this id that nobody has claimed. */
  find(id: RequestId.RequestId): Served | undefined {
    const served = this.#table?.get(id)
    return served?.answered === true ? undefined : served
  }

  /** The request with this progress token that is not claimed. */
  findByProgressToken(token: Meta.ProgressToken): Served | undefined {
    for (const served of this.#table?.values() ?? []) {
      if (served.progressToken === token && !served.answered) return served
    }
    return undefined
  }

  /** Those that nobody has claimed. */
  all(): ReadonlyArray<Served> {
    return Array.from(this.#table?.values() ?? []).filter(({ answered }) => !answered)
  }

  /** Claims the request that takes most memory, which will have no reply of its handler. */
  claimLargest(): Served | undefined {
    const served = this.all().reduce<Served | undefined>(
      (largest, served) => largest === undefined || served.bytes > largest.bytes ? served : largest,
      undefined
    )
    return served !== undefined && this.claim(served) ? served : undefined
  }

  /** Is there one with this id that will have a reply, or whose reply is not on its way yet? */
  isTaken(id: RequestId.RequestId): boolean {
    return this.#table?.has(id) === true
  }

  /** Claims the entry, which will have no reply; its id is free again. */
  claim(served: Served): boolean {
    if (served.answered || !this.#isOurs(served)) return false
    this.#table?.delete(served.id)
    this.#claimed ??= new Set()
    this.#claimed.add(served)
    return true
  }

  /** Claims the entry for its reply; its id is free when that is on its way. */
  answer(served: Served): boolean {
    if (served.answered || !this.#isOurs(served)) return false
    served.answered = true
    return true
  }

  /** The handler's fiber has ended, and its reply is on its way if it has one. */
  release(served: Served): void {
    const left = this.#isOurs(served) ? this.#table?.delete(served.id) : this.#claimed?.delete(served)
    if (left === true) this.#room.release(served.bytes)
    if (this.#waiters !== undefined && this.size === 0) {
      for (const waiter of this.#waiters.splice(0)) Deferred.doneUnsafe(waiter, Exit.void)
    }
  }

  /** Claims everything and interrupts the handlers; those whose requests will have no reply now. */
  interruptAll(): ReadonlyArray<Served> {
    const all = this.#running()
    const claimed = all.filter((served) => this.claim(served))
    all.forEach(interrupt)
    return claimed
  }

  /** Waits until no handler's fiber is left. */
  get drained(): Effect.Effect<void> {
    return Effect.suspend(() => {
      if (this.size === 0) return Effect.void
      const waiter = Deferred.makeUnsafe<void>()
      this.#waiters ??= []
      this.#waiters.push(waiter)
      return Deferred.await(waiter)
    })
  }

  /** How many handlers' fibers are left, by method. */
  unfinished(): ReadonlyArray<{ readonly method: string; readonly count: number }> {
    const counts = new Map<string, number>()
    for (const served of this.#running()) counts.set(served.method, (counts.get(served.method) ?? 0) + 1)
    return Array.from(counts, ([method, count]) => ({ method, count }))
  }

  #running(): ReadonlyArray<Served> {
    return [...this.#claimed ?? [], ...this.#table?.values() ?? []]
  }

  #isOurs(served: Served): boolean {
    return this.#table?.get(served.id) === served
  }
}

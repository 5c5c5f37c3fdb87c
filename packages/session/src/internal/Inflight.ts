import type { JsonRpc, Meta, RequestId } from "@effect-mcp/protocol"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type * as Fiber from "effect/Fiber"
import type { Principal } from "../Principal.ts"
import type { Origin } from "../Transport.ts"
import type { Capacity } from "./Capacity.ts"

/**
 * One request of the peer, with the fiber of its handler.
 */
export interface Served {
  readonly id: RequestId.RequestId
  readonly method: string
  readonly origin: Origin | undefined
  /** How many bytes it came in, as far as is known. */
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
  from: { readonly origin: Origin | undefined; readonly bytes: number; readonly principal: Principal | undefined }
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

/**
 * The requests of the peer that are being served. The reply, a cancellation and the end of the session each try to claim an
 * entry, in one step; whoever gets it acts, the others find nothing.
 */
export interface Inflight {
  /** Puts an entry in, or says why there is no room for it. Its id must be free. */
  readonly open: (served: Served) => string | undefined
  /** The one with this id that nobody has claimed. */
  readonly find: (id: RequestId.RequestId) => Served | undefined
  /** Those that nobody has claimed. */
  readonly all: () => ReadonlyArray<Served>
  /** Is there one with this id that will have a reply, or whose reply is not on its way yet? */
  readonly isTaken: (id: RequestId.RequestId) => boolean
  /** Claims the entry, which will have no reply; its id is free again. */
  readonly claim: (served: Served) => boolean
  /** Claims the entry for its reply; its id is free when that is on its way. */
  readonly answer: (served: Served) => boolean
  /** The handler's fiber has ended, and its reply is on its way if it has one. */
  readonly release: (served: Served) => void
  /** Claims everything and interrupts the handlers; those whose requests will have no reply now. */
  readonly interruptAll: () => ReadonlyArray<Served>
  /** Waits until no handler's fiber is left. */
  readonly drained: Effect.Effect<void>
  /** How many handlers' fibers are left, by method. */
  readonly unfinished: () => ReadonlyArray<{ readonly method: string; readonly count: number }>
  readonly size: () => number
}

/** Stops a handler. One that is just being started has no fiber yet; whoever starts it looks at `ended` next. */
export const interrupt = (served: Served): void => {
  served.ended = true
  served.fiber?.interruptUnsafe()
}

export const make = (capacity: Capacity): Inflight => {
  const table = new Map<RequestId.RequestId, Served>()
  // An entry leaves the table with its reply or its claim; its fiber may live on for a moment, or longer if it cannot be interrupted.
  const running = new Set<Served>()
  const waiters: Array<Deferred.Deferred<void>> = []

  const isOurs = (served: Served): boolean => table.get(served.id) === served

  const claim = (served: Served): boolean => !served.answered && isOurs(served) && table.delete(served.id)

  return {
    open: (served) => {
      const full = capacity.take(served.bytes)
      if (full !== undefined) return full
      running.add(served)
      table.set(served.id, served)
      return undefined
    },
    find: (id) => {
      const served = table.get(id)
      return served?.answered === true ? undefined : served
    },
    all: () => Array.from(table.values()).filter(({ answered }) => !answered),
    isTaken: (id) => table.has(id),
    claim,
    answer: (served) => {
      if (served.answered || !isOurs(served)) return false
      served.answered = true
      return true
    },
    release: (served) => {
      if (isOurs(served)) table.delete(served.id)
      if (running.delete(served)) capacity.release(served.bytes)
      if (running.size === 0) { for (const waiter of waiters.splice(0)) Deferred.doneUnsafe(waiter, Exit.void) }
    },
    interruptAll: () => {
      const all = Array.from(running)
      const claimed = all.filter(claim)
      all.forEach(interrupt)
      return claimed
    },
    drained: Effect.suspend(() => {
      if (running.size === 0) return Effect.void
      const waiter = Deferred.makeUnsafe<void>()
      waiters.push(waiter)
      return Deferred.await(waiter)
    }),
    unfinished: () => {
      const counts = new Map<string, number>()
      for (const served of running) counts.set(served.method, (counts.get(served.method) ?? 0) + 1)
      return Array.from(counts, ([method, count]) => ({ method, count }))
    },
    size: () => running.size
  }
}

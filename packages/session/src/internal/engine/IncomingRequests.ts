/** The peer's requests that are in flight, and the claim that lets exactly one end of each request act. */

import type { JsonRpc, Meta, RequestId } from "@effect-mcp/protocol"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type * as Fiber from "effect/Fiber"
import type { Principal } from "../../Principal.ts"
import type { StreamOrigin } from "../../Transport.ts"
import type { Room } from "./Capacity.ts"

/** The transport has the reply, or has failed to send it; or the request gets no reply. */
export type ReplyOutcome = "Sent" | "Lost" | "None"

/** A request of the peer, with the fiber of its handler. */
export interface IncomingRequest {
  readonly id: RequestId.RequestId
  readonly method: string
  readonly origin: StreamOrigin | undefined
  /** The memory of the request in bytes; 0 if the transport does not carry bytes. */
  readonly bytes: number
  readonly principal: Principal | undefined
  readonly progressToken: Meta.ProgressToken | undefined
  /** The highest progress reported so far; the next must be higher. */
  highest: number
  /** The time of the latest step of progress, on the session's clock. */
  reportedAt: number
  /** Whether the reply is decided. Later messages of the handler are dropped. */
  ended: boolean
  /** Whether a reply has claimed the request, and the transport has not received it yet. */
  hasReply: boolean
  /** Returns whether another process goes on with the request if its session moves there. Absent if none does. */
  movesOn: (() => boolean) | undefined
  /**
   * Stores a cancellation of the peer before it has its effect, and calls `acknowledge` then, or with `false` if that
   * has failed. Absent if another process does not go on with the request.
   */
  storeCancellation: ((acknowledge: (isStored: boolean) => void) => void) | undefined
  /** Called after the end of the handler, with what became of its reply. */
  afterReply: ((reply: ReplyOutcome) => void) | undefined
  fiber: Fiber.Fiber<unknown, unknown> | undefined
}

/** Makes the entry of a request that takes this memory in bytes. */
export const make = (
  { id, method, params }: JsonRpc.Request,
  origin: StreamOrigin | undefined,
  bytes: number,
  principal: Principal | undefined
): IncomingRequest => ({
  id,
  method,
  origin,
  bytes,
  principal,
  progressToken: progressTokenOf(params),
  highest: Number.NEGATIVE_INFINITY,
  reportedAt: Number.NEGATIVE_INFINITY,
  ended: false,
  hasReply: false,
  movesOn: undefined,
  storeCancellation: undefined,
  afterReply: undefined,
  fiber: undefined
})

const progressTokenOf = (params: JsonRpc.Params | undefined): Meta.ProgressToken | undefined => {
  const meta = params?.["_meta"]
  if (typeof meta !== "object" || meta === null || !("progressToken" in meta)) return undefined
  const token = meta.progressToken
  return typeof token === "string" || typeof token === "number" ? token : undefined
}

/** Returns whether the handler has reported progress. */
export const hasReported = (request: IncomingRequest): boolean => request.reportedAt !== Number.NEGATIVE_INFINITY

/**
 * Interrupts a handler. While a handler is being started, there is no fiber yet; `RequestServer` checks `ended` after
 * the start.
 */
export const interrupt = (request: IncomingRequest): void => {
  request.ended = true
  request.fiber?.interruptUnsafe()
}

/**
 * The requests of the peer in flight. A reply, a cancellation and the end of the session each try to claim a request in
 * one step. Only the first of them acts.
 */
export class IncomingRequests {
  readonly #room: Room
  #table: Map<RequestId.RequestId, IncomingRequest> | undefined
  /**
   * The claimed requests. Their fibers may run on until their finalizers end, or longer if they cannot be interrupted.
   */
  #claimed: Set<IncomingRequest> | undefined
  #waiters: Array<Deferred.Deferred<void>> | undefined

  constructor(room: Room) {
    this.#room = room
  }

  /** Returns the number of handlers that run, and of replies that the transport has not received yet. */
  get size(): number {
    return (this.#table?.size ?? 0) + (this.#claimed?.size ?? 0)
  }

  /** Adds a request, or returns the reason why there is no capacity for it. Its id must be free. */
  open(request: IncomingRequest): string | undefined {
    const full = this.#room.take(request.bytes)
    if (full !== undefined) return full
    this.#table ??= new Map()
    this.#table.set(request.id, request)
    return undefined
  }

  /** Returns the unclaimed request with this id. */
  find(id: RequestId.RequestId): IncomingRequest | undefined {
    const request = this.#table?.get(id)
    return request?.hasReply === true ? undefined : request
  }

  /** Returns the unclaimed request with this progress token. */
  findByProgressToken(token: Meta.ProgressToken): IncomingRequest | undefined {
    for (const request of this.#table?.values() ?? []) {
      if (request.progressToken === token && !request.hasReply) return request
    }
    return undefined
  }

  /** Returns the unclaimed requests. */
  all(): ReadonlyArray<IncomingRequest> {
    return Array.from(this.#table?.values() ?? []).filter(({ hasReply }) => !hasReply)
  }

  /** Claims the request that takes most memory. Its handler will send no reply. */
  claimLargest(): IncomingRequest | undefined {
    const request = this.all().reduce<IncomingRequest | undefined>(
      (largest, request) => largest === undefined || request.bytes > largest.bytes ? request : largest,
      undefined
    )
    return request !== undefined && this.claim(request) ? request : undefined
  }

  /** Returns whether a request with this id is in flight. */
  isTaken(id: RequestId.RequestId): boolean {
    return this.#table?.has(id) === true
  }

  /** Claims a request that gets no reply. Its id is free again. */
  claim(request: IncomingRequest): boolean {
    if (request.hasReply || !this.#isOpen(request)) return false
    this.#table?.delete(request.id)
    this.#claimed ??= new Set()
    this.#claimed.add(request)
    return true
  }

  /** Claims a request for its reply. Its id is free again when the transport has received the reply. */
  claimForReply(request: IncomingRequest): boolean {
    if (request.hasReply || !this.#isOpen(request)) return false
    request.hasReply = true
    return true
  }

  /** Releases a request whose fiber has ended, and whose reply, if it has one, the transport has received. */
  release(request: IncomingRequest): void {
    const left = this.#isOpen(request) ? this.#table?.delete(request.id) : this.#claimed?.delete(request)
    if (left === true) this.#room.release(request.bytes)
    if (this.#waiters !== undefined && this.size === 0) {
      for (const waiter of this.#waiters.splice(0)) Deferred.doneUnsafe(waiter, Exit.void)
    }
  }

  /** Claims all requests, and interrupts their handlers. Returns the requests that therefore get no reply. */
  interruptAll(): ReadonlyArray<IncomingRequest> {
    const all = this.#running()
    const claimed = all.filter((request) => this.claim(request))
    all.forEach(interrupt)
    return claimed
  }

  /** Claims and interrupts the requests that another process goes on with. They get no reply here. */
  handOn(): void {
    const moving = this.all().filter((request) => request.movesOn?.() === true && this.claim(request))
    moving.forEach(interrupt)
  }

  /** Waits until no fiber of a handler is left. */
  get drained(): Effect.Effect<void> {
    return Effect.suspend(() => {
      if (this.size === 0) return Effect.void
      const waiter = Deferred.makeUnsafe<void>()
      this.#waiters ??= []
      this.#waiters.push(waiter)
      return Deferred.await(waiter)
    })
  }

  /** Returns the number of fibers that are left, by method. */
  unfinished(): ReadonlyArray<{ readonly method: string; readonly count: number }> {
    const counts = new Map<string, number>()
    for (const request of this.#running()) counts.set(request.method, (counts.get(request.method) ?? 0) + 1)
    return Array.from(counts, ([method, count]) => ({ method, count }))
  }

  #running(): ReadonlyArray<IncomingRequest> {
    return [...this.#claimed ?? [], ...this.#table?.values() ?? []]
  }

  #isOpen(request: IncomingRequest): boolean {
    return this.#table?.get(request.id) === request
  }
}

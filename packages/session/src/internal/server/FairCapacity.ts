/** The capacity of a server without sessions, shared fairly by its clients. */

import type { Limits } from "../../Limits.ts"
import type { MemoryBudget } from "../../MemoryBudget.ts"
import type { Principal } from "../../Principal.ts"
import { Capacity, type Room } from "../engine/Capacity.ts"

/** The client of a request, as far as it is known. */
export interface Client {
  readonly principal?: Principal | undefined
  /** Distinguishes clients without a principal. */
  readonly client?: string | undefined
}

/** The requests of one client that are in flight. */
interface Held {
  requests: number
  bytes: number
  /** The frames that they came in, the oldest first. */
  readonly frames: Set<Frame>
}

/**
 * Returns the name of a client. Clients that cannot be distinguished share one name, and the capacity of one client.
 */
const nameOf = ({ client, principal }: Client): string => {
  if (principal !== undefined) return `principal ${principal.id}`
  return client === undefined ? "" : `client ${client}`
}

/** The room of one frame of a client. */
class Frame implements Room {
  readonly #capacity: FairCapacity
  readonly name: string
  readonly yields: (() => void) | undefined
  requests = 0

  constructor(capacity: FairCapacity, name: string, yields: (() => void) | undefined) {
    this.#capacity = capacity
    this.name = name
    this.yields = yields
  }

  take(bytes: number): string | undefined {
    return this.#capacity.take(this, bytes)
  }

  release(bytes: number): void {
    this.#capacity.release(this, bytes)
  }
}

/**
 * The capacity of a server that its clients share. A client may have no more in flight than there is still room for:
 * the dynamic threshold of shared buffers. One client alone gets half of the capacity, and two whose requests come and
 * go get a third each. If requests do not end and all is taken, the client that has most yields to clients with less.
 * Nothing is known of a client that has nothing in flight.
 */
export class FairCapacity {
  readonly #limits: Limits
  readonly #all: Capacity
  readonly #held = new Map<string, Held>()

  constructor(limits: Limits, budget: MemoryBudget) {
    this.#limits = limits
    this.#all = new Capacity(limits, budget)
  }

  /** The number of clients that have requests in flight. */
  get clients(): number {
    return this.#held.size
  }

  /** The room of one frame of a client. `yields` gives up one of its requests. */
  roomOf(client: Client, yields?: () => void): Room {
    return new Frame(this, nameOf(client), yields)
  }

  /** Takes the room for one more request of a frame; or returns why there is none. */
  take(frame: Frame, bytes: number): string | undefined {
    const known = this.#held.get(frame.name)
    const excess = known === undefined ? undefined : this.#excess(known, bytes)
    if (excess !== undefined && this.#lacks(bytes) === undefined) return excess
    this.#makeRoom(known, bytes)
    const none = this.#all.take(bytes)
    if (none !== undefined) return none
    // A request that has yielded may have been the last of this client.
    const held = this.#held.get(frame.name) ?? { requests: 0, bytes: 0, frames: new Set() }
    this.#held.set(frame.name, held)
    held.requests++
    held.bytes += bytes
    held.frames.add(frame)
    frame.requests++
    return undefined
  }

  /** Gives the room of one request back. */
  release(frame: Frame, bytes: number): void {
    this.#all.release(bytes)
    const held = this.#held.get(frame.name)
    if (held === undefined) return
    held.requests--
    held.bytes -= bytes
    if (--frame.requests === 0) held.frames.delete(frame)
    if (held.requests === 0) this.#held.delete(frame.name)
  }

  /** Returns which limit of all clients together leaves no room for one more request. */
  #lacks(bytes: number): "requests" | "bytes" | undefined {
    const { maxIncomingBytes, maxIncomingRequests } = this.#limits
    if (this.#all.requests >= maxIncomingRequests) return "requests"
    return this.#all.bytes + bytes > maxIncomingBytes ? "bytes" : undefined
  }

  /** Lets the clients that have most yield, as long as they have more than this one would have. */
  #makeRoom(held: Held | undefined, bytes: number): void {
    const own = { requests: (held?.requests ?? 0) + 1, bytes: (held?.bytes ?? 0) + bytes }
    for (let of = this.#lacks(bytes); of !== undefined; of = this.#lacks(bytes)) {
      const before = this.#all.requests
      this.#largest(of, own[of])?.yields?.()
      // None has more, or its request ends later.
      if (this.#all.requests >= before) return
    }
  }

  /** The oldest frame of the client that has most, and more than this. */
  #largest(of: "requests" | "bytes", than: number): Frame | undefined {
    let most = than
    let largest: Held | undefined
    for (const held of this.#held.values()) {
      if (held[of] <= most) continue
      most = held[of]
      largest = held
    }
    return largest?.frames.values().next().value
  }

  /** Returns which share of a client would be too large. */
  #excess({ bytes: heldBytes, requests }: Held, bytes: number): string | undefined {
    const { maxIncomingBytes, maxIncomingRequests } = this.#limits
    if (requests >= maxIncomingRequests - this.#all.requests) {
      return `${requests} requests of this client are in flight, and there must be room for as many of others`
    }
    return heldBytes + bytes > maxIncomingBytes - this.#all.bytes
      ? `the requests of this client in flight take ${heldBytes} bytes of memory, and other clients need room, too`
      : undefined
  }
}

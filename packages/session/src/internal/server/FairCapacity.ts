/** The capacity of a server for requests without a session, or for those that it forwards, shared by its clients. */

import { type Client, nameOf } from "../ClientName.ts"
import { type Bounds, Capacity, type Charged, type Room } from "../engine/Capacity.ts"

/** The requests of one client that are in flight. */
interface Usage {
  requests: number
  bytes: number
  /** The frames of these requests, the oldest first. */
  readonly frames: Set<Frame>
}

/** The capacity that one frame of a client uses. */
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
 * The capacity of a server that its clients share. A client may have no more in flight than the capacity that is still
 * free, as with the dynamic threshold of shared buffers: a single client gets half, and two active clients get a third
 * each. If requests do not end and no capacity is free, the client with most in flight yields to clients with less.
 * A client without requests in flight takes no memory here.
 */
export class FairCapacity {
  readonly #limits: Bounds
  readonly #all: Capacity
  readonly #held = new Map<string, Usage>()

  constructor(limits: Bounds, budget: Charged) {
    this.#limits = limits
    this.#all = new Capacity(limits, budget)
  }

  /** The number of clients that have requests in flight. */
  get clients(): number {
    return this.#held.size
  }

  /** Returns the capacity for one frame of a client. `yields` ends one of its requests. */
  roomOf(client: Client, yields?: () => void): Room {
    return new Frame(this, nameOf(client), yields)
  }

  /** Reserves capacity for one more request of a frame, or returns the reason why there is none. */
  take(frame: Frame, bytes: number): string | undefined {
    const known = this.#held.get(frame.name)
    const excess = known === undefined ? undefined : this.#excess(known, bytes)
    if (excess !== undefined && this.#lacks(bytes) === undefined) return excess
    this.#makeRoom(known, bytes)
    const none = this.#all.take(bytes)
    if (none !== undefined) return none
    // The request that has yielded may have been the last of this client.
    const held = this.#held.get(frame.name) ?? { requests: 0, bytes: 0, frames: new Set() }
    this.#held.set(frame.name, held)
    held.requests++
    held.bytes += bytes
    held.frames.add(frame)
    frame.requests++
    return undefined
  }

  /** Releases the capacity of one request. */
  release(frame: Frame, bytes: number): void {
    this.#all.release(bytes)
    const held = this.#held.get(frame.name)
    if (held === undefined) return
    held.requests--
    held.bytes -= bytes
    if (--frame.requests === 0) held.frames.delete(frame)
    if (held.requests === 0) this.#held.delete(frame.name)
  }

  /** Returns the limit of all clients together that one more request would exceed. */
  #lacks(bytes: number): "requests" | "bytes" | undefined {
    const { maxIncomingBytes, maxIncomingRequests } = this.#limits
    if (this.#all.requests >= maxIncomingRequests) return "requests"
    return this.#all.bytes + bytes > maxIncomingBytes ? "bytes" : undefined
  }

  /** Makes the clients with most in flight yield, while they have more than this one would have. */
  #makeRoom(held: Usage | undefined, bytes: number): void {
    const own = { requests: (held?.requests ?? 0) + 1, bytes: (held?.bytes ?? 0) + bytes }
    for (let of = this.#lacks(bytes); of !== undefined; of = this.#lacks(bytes)) {
      const before = this.#all.requests
      this.#largest(of, own[of])?.yields?.()
      // No client has more, or its request ends later.
      if (this.#all.requests >= before) return
    }
  }

  /** Returns the oldest frame of the client with most in flight, if that is more than `than`. */
  #largest(of: "requests" | "bytes", than: number): Frame | undefined {
    let most = than
    let largest: Usage | undefined
    for (const held of this.#held.values()) {
      if (held[of] <= most) continue
      most = held[of]
      largest = held
    }
    return largest?.frames.values().next().value
  }

  /** Returns why the share of a client would be too large. */
  #excess({ bytes: heldBytes, requests }: Usage, bytes: number): string | undefined {
    const { maxIncomingBytes, maxIncomingRequests } = this.#limits
    if (requests >= maxIncomingRequests - this.#all.requests) {
      return `${requests} requests of this client are in flight, and as many of others must still have room`
    }
    return heldBytes + bytes > maxIncomingBytes - this.#all.bytes
      ? `the requests of this client in flight take ${heldBytes} bytes of memory, and other clients need room as well`
      : undefined
  }
}

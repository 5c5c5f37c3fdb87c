import type { Limits } from "../Limits.ts"
import type { MemoryBudget } from "../MemoryBudget.ts"
import type { Principal } from "../Principal.ts"
import { Capacity, type Room } from "./Capacity.ts"

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
}

/** Clients that cannot be distinguished share what one client may have. */
const nameOf = ({ client, principal }: Client): string => {
  if (principal !== undefined) return `principal ${principal.id}`
  return client === undefined ? "" : `client ${client}`
}

/**
 * The capacity of a server that its clients share. A client may have no more in flight than there is still room for: the
 * dynamic threshold of shared buffers. One client alone gets half of the capacity, and two whose requests come and go
 * get a third each. Clients that come one after another and whose requests do not end get half, a quarter, an eighth:
 * nine of them fill 256 requests. Nothing is known of a client that has nothing in flight.
 */
export class FairCapacity {
  readonly #limits: Limits
  readonly #all: Capacity
  readonly #held = new Map<string, Held>()

  constructor(limits: Limits, budget: MemoryBudget) {
    this.#limits = limits
    this.#all = new Capacity(limits, budget)
  }

  /** The number of clients that something is known of: those that have requests in flight. */
  get clients(): number {
    return this.#held.size
  }

  /** The room of one client. */
  roomOf(client: Client): Room {
    const name = nameOf(client)
    return { take: (bytes) => this.#take(name, bytes), release: (bytes) => this.#release(name, bytes) }
  }

  #take(name: string, bytes: number): string | undefined {
    const { incoming, incomingBytes } = this.#limits
    const held = this.#held.get(name)
    const full = held === undefined ? undefined : this.#excess(held, bytes)
    if (full !== undefined && this.#all.requests < incoming && this.#all.bytes + bytes <= incomingBytes) return full
    const none = this.#all.take(bytes)
    if (none !== undefined) return none
    if (held === undefined) this.#held.set(name, { requests: 1, bytes })
    else {
      held.requests++
      held.bytes += bytes
    }
    return undefined
  }

  /** Says what a client would have too much of. */
  #excess({ bytes: heldBytes, requests }: Held, bytes: number): string | undefined {
    const { incoming, incomingBytes } = this.#limits
    if (requests >= incoming - this.#all.requests) {
      return `${requests} requests of this client are in flight, and there must be room for as many of others`
    }
    return heldBytes + bytes > incomingBytes - this.#all.bytes
      ? `the requests of this client in flight take ${heldBytes} bytes of memory, and there must be room for those of others`
      : undefined
  }

  #release(name: string, bytes: number): void {
    this.#all.release(bytes)
    const held = this.#held.get(name)
    if (held === undefined) return
    held.requests--
    held.bytes -= bytes
    if (held.requests === 0) this.#held.delete(name)
  }
}

/** The capacity for the requests of a peer. */

import type { Limits } from "../../Limits.ts"
import type { Account } from "../../MemoryBudget.ts"

/** A budget, or an account of it. */
export type Charged = Pick<Account, "take" | "release">

/** A share of the capacity for requests. */
export interface Room {
  /** Takes room for one more request, or returns the reason why there is none. */
  readonly take: (bytes: number) => string | undefined
  /** Gives back the room of one request. */
  readonly release: (bytes: number) => void
}

/**
 * The capacity for requests that are served at the same time: their number, their memory, and the memory of the
 * process.
 */
export class Capacity implements Room {
  readonly #limits: Limits
  readonly #charged: Charged
  #requests = 0
  #bytes = 0

  constructor(limits: Limits, charged: Charged) {
    this.#limits = limits
    this.#charged = charged
  }

  get requests(): number {
    return this.#requests
  }

  get bytes(): number {
    return this.#bytes
  }

  /** Takes room for one more request, or returns the reason why there is none. */
  take(bytes: number): string | undefined {
    const { maxIncomingBytes, maxIncomingRequests } = this.#limits
    if (this.#requests >= maxIncomingRequests) return `${maxIncomingRequests} requests are in flight`
    if (this.#bytes + bytes > maxIncomingBytes) {
      return `the requests in flight may take ${maxIncomingBytes} bytes of memory`
    }
    if (!this.#charged.take(bytes)) return "the server has no memory left for requests"
    this.#requests++
    this.#bytes += bytes
    return undefined
  }

  /** Gives back the room of one request. */
  release(bytes: number): void {
    this.#requests--
    this.#bytes -= bytes
    this.#charged.release(bytes)
  }
}

/** The capacity for requests of a peer that are in flight. */

import type { Limits } from "../../Limits.ts"
import type { Account } from "../../MemoryBudget.ts"

/** A budget, or an account of it. */
export type Charged = Pick<Account, "take" | "release">

/** The limits of all requests together. */
export type Bounds = Pick<Limits, "maxIncomingBytes" | "maxIncomingRequests">

/** A share of the capacity for requests. */
export interface Room {
  /** Reserves capacity for one more request, or returns the reason why there is none. */
  readonly take: (bytes: number) => string | undefined
  /** Releases the capacity of one request. */
  readonly release: (bytes: number) => void
}

/** The capacity for requests in flight: their number, their memory, and the memory budget of the process. */
export class Capacity implements Room {
  readonly #limits: Bounds
  readonly #charged: Charged
  #requests = 0
  #bytes = 0

  constructor(limits: Bounds, charged: Charged) {
    this.#limits = limits
    this.#charged = charged
  }

  get requests(): number {
    return this.#requests
  }

  get bytes(): number {
    return this.#bytes
  }

  /** Reserves capacity for one more request, or returns the reason why there is none. */
  take(bytes: number): string | undefined {
    const { maxIncomingBytes, maxIncomingRequests } = this.#limits
    if (this.#requests >= maxIncomingRequests) return `${maxIncomingRequests} requests are in flight, the limit`
    if (this.#bytes + bytes > maxIncomingBytes) {
      return `the requests in flight would take more than ${maxIncomingBytes} bytes of memory, the limit`
    }
    if (!this.#charged.take(bytes)) return "the memory budget of the process is exhausted"
    this.#requests++
    this.#bytes += bytes
    return undefined
  }

  /** Releases the capacity of one request. */
  release(bytes: number): void {
    this.#requests--
    this.#bytes -= bytes
    this.#charged.release(bytes)
  }
}

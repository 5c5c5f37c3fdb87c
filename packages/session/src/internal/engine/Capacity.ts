import type { Limits } from "../../Limits.ts"
import type { Account } from "../../MemoryBudget.ts"

/** A budget, or an account of one. */
export type Charged = Pick<Account, "take" | "release">

/** Room for requests. */
export interface Room {
  /** Takes the room for one more; or says why there is none. */
  readonly take: (bytes: number) => string | undefined
  /** Gives the room of one back. */
  readonly release: (bytes: number) => void
}

/**
 * How much may be served at the same time: so many requests, which take so much memory, of which the process has
 * enough.
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

  /** Takes the room for one more; or says why there is none. */
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

  /** Gives the room of one back. */
  release(bytes: number): void {
    this.#requests--
    this.#bytes -= bytes
    this.#charged.release(bytes)
  }
}

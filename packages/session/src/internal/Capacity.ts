import type { Limits } from "../Limits.ts"

/**
 * How much may be served at the same time: so many requests, which came in so many bytes.
 */
export class Capacity {
  readonly #limits: Limits
  #requests = 0
  #bytes = 0

  constructor(limits: Limits) {
    this.#limits = limits
  }

  /** Takes the room for one more; or says why there is none. */
  take(bytes: number): string | undefined {
    const { incoming, incomingBytes } = this.#limits
    if (this.#requests >= incoming) return `${incoming} requests are in flight`
    if (this.#bytes + bytes > incomingBytes) return `the requests in flight may have ${incomingBytes} bytes`
    this.#requests++
    this.#bytes += bytes
    return undefined
  }

  /** Gives the room of one back. */
  release(bytes: number): void {
    this.#requests--
    this.#bytes -= bytes
  }
}

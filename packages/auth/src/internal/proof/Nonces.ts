/** The nonces that servers send for the proofs of a client (RFC 9449, sections 8 and 9). */

/** The origins whose nonces are remembered: a server and its authorization server, and those before them. */
const maxOrigins = 16

/** The characters of a nonce, and its greatest length. */
const nonce = /^[\x21\x23-\x5b\x5d-\x7e]{1,1024}$/

/** The newest nonce of each origin. */
export class Nonces {
  readonly #byOrigin = new Map<string, string>()

  /** Returns the nonce for the next request to an origin. */
  get(origin: string): string | undefined {
    return this.#byOrigin.get(origin)
  }

  /** Remembers the nonce of a response. Returns whether it has another one than the last. */
  set(origin: string, given: string | undefined): boolean {
    if (given === undefined || !nonce.test(given)) return false
    const isNew = this.#byOrigin.get(origin) !== given
    this.#byOrigin.delete(origin)
    const [oldest] = this.#byOrigin.keys()
    if (this.#byOrigin.size >= maxOrigins && oldest !== undefined) this.#byOrigin.delete(oldest)
    this.#byOrigin.set(origin, given)
    return isNew
  }
}

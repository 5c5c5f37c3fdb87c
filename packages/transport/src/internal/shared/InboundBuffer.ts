/** The inbound frames of a connection, which are buffered until its session runs it. */
import type { Inbound } from "@effect-mcp/session/Transport"

type Deliver = (inbound: Inbound) => void

const discard: Deliver = () => {}

export class InboundBuffer {
  #buffered: Array<Inbound> | undefined
  #deliver: Deliver | undefined

  /** Delivers a frame to the subscriber, or buffers it while there is none. */
  deliver(inbound: Inbound): void {
    if (this.#deliver !== undefined) return this.#deliver(inbound)
    this.#buffered ??= []
    this.#buffered.push(inbound)
  }

  /** Delivers the buffered frames in order, and each later frame as it arrives. After {@link close}, does nothing. */
  subscribe(deliver: Deliver): void {
    // A frame that arrives during the loop is appended to the array, and the loop reaches it.
    for (const inbound of this.#buffered ?? []) deliver(inbound)
    this.#buffered = undefined
    this.#deliver ??= deliver
  }

  /** Discards the buffered frames and all later ones. */
  close(): void {
    this.#buffered?.splice(0)
    this.#deliver = discard
  }
}

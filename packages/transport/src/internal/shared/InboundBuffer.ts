/** The frames of a connection, kept until its session runs it. */
import type { Inbound } from "@effect-mcp/session/Transport"

type Deliver = (inbound: Inbound) => void

const discard: Deliver = () => {}

export class InboundBuffer {
  #kept: Array<Inbound> = []
  #deliver: Deliver = (inbound) => void this.#kept.push(inbound)

  /** Delivers a frame to the subscriber, or keeps it for the subscriber to come. */
  deliver(inbound: Inbound): void {
    this.#deliver(inbound)
  }

  /** Delivers the kept frames, and all later ones as they arrive. */
  subscribe(deliver: Deliver): void {
    for (const inbound of this.#kept.splice(0)) deliver(inbound)
    this.#deliver = deliver
  }

  /** Discards all frames from now on. */
  close(): void {
    this.#kept = []
    this.#deliver = discard
  }
}

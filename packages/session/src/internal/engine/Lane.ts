/** The queue of the outbox for one stream, on which messages are sent one at a time. */

import type * as Exit from "effect/Exit"
import type * as Fiber from "effect/Fiber"
import type { Outbound } from "../../Transport.ts"
import type { TransportError } from "../../TransportError.ts"
import { isBatch } from "./Batch.ts"
import type { Exchange } from "./PendingRequests.ts"

/** An outgoing message. `Handed`: the transport has received it, so the peer may have received it as well. */
export interface Entry {
  readonly outbound: Outbound
  /** The exchange that it opens, if it is a request. */
  readonly exchange: Exchange | undefined
  readonly done: (exit: Exit.Exit<void, TransportError>) => void
  state: "Waiting" | "Handed" | "Withdrawn"
  /** The memory of the message in bytes, if it has to wait. */
  weight: number | undefined
  /** The bytes that the memory budget is charged while the message waits. */
  charge: number | undefined
}

/** Makes the entry of a message. A batch is replaced by the origin of its frame. */
export const entry = (
  outbound: Outbound,
  options: { readonly exchange?: Exchange; readonly done: Entry["done"] }
): Entry => ({
  outbound: isBatch(outbound.replyTo) ? { ...outbound, replyTo: outbound.replyTo.origin } : outbound,
  exchange: options.exchange,
  done: options.done,
  state: "Waiting",
  weight: undefined,
  charge: undefined
})

/** A message that the transport makes wait. */
export interface Sending {
  readonly entry: Entry
  readonly fiber: Fiber.Fiber<void, TransportError>
  readonly since: number
  /** `Aborted`: its stream is stalled. `Failed`: it is aborted, and its fiber cannot be interrupted. */
  state: "Sending" | "Aborted" | "Failed"
}

/** The messages of one stream, which are sent one at a time. */
export class Lane {
  /** The waiting messages in order. A `Set` removes a message in the middle in constant time. */
  readonly waiting = new Set<Entry>()
  sending: Sending | undefined
}

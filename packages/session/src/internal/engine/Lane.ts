/** Outgoing messages that are sent one at a time. */

import type * as Exit from "effect/Exit"
import type * as Fiber from "effect/Fiber"
import type { Outbound } from "../../Transport.ts"
import type { TransportError } from "../../TransportError.ts"
import { isBatch } from "./Batch.ts"
import type { Exchange } from "./PendingRequests.ts"

/** An outgoing message. `Handed`: the transport has it, so the peer may have seen it. */
export interface Entry {
  readonly outbound: Outbound
  /** The exchange that it opens, if it is a request. */
  readonly exchange: Exchange | undefined
  readonly done: (exit: Exit.Exit<void, TransportError>) => void
  state: "Waiting" | "Handed" | "Withdrawn"
  /** The bytes of memory that it takes, once it has to wait. */
  weight: number | undefined
  /** The bytes that the budget of the process is charged while it waits. */
  charge: number | undefined
}

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

/** A message that waits within the transport. */
export interface Sending {
  readonly entry: Entry
  readonly fiber: Fiber.Fiber<void, TransportError>
  readonly since: number
  /** `GivenUp`: its stream took no bytes for too long. `Failed`: its sender has failed before the fiber ended. */
  state: "Sending" | "GivenUp" | "Failed"
}

/** The messages of one stream, which are sent one at a time. */
export class Lane {
  /** Ordered. A message in the middle is removed in constant time. */
  readonly waiting = new Set<Entry>()
  sending: Sending | undefined
}

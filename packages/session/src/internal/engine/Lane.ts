import type * as Exit from "effect/Exit"
import type * as Fiber from "effect/Fiber"
import type { Outbound } from "../../Transport.ts"
import type { TransportError } from "../../TransportError.ts"
import { Batch } from "./Batch.ts"
import type { Exchange } from "./PendingRequests.ts"

/**
 * One message on its way out. `Handed` means that the transport has been given it, so a peer may have seen it.
 */
export interface Entry {
  readonly outbound: Outbound
  /** The exchange it opens, if it is a request. */
  readonly exchange: Exchange | undefined
  readonly done: (exit: Exit.Exit<void, TransportError>) => void
  state: "Waiting" | "Handed" | "Withdrawn"
  /** The bytes of memory that it takes, once it has had to wait. */
  weight: number | undefined
  /** What the budget of the process is charged for it, while it has to wait. */
  charge: number | undefined
}

export const entry = (
  outbound: Outbound,
  options: { readonly exchange?: Exchange; readonly done: Entry["done"] }
): Entry => ({
  outbound: outbound.replyTo instanceof Batch ? { ...outbound, replyTo: outbound.replyTo.origin } : outbound,
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
  /** `GivenUp`: its stream took nothing for too long. `Failed`: its sender was told so before the fiber has ended. */
  state: "Sending" | "GivenUp" | "Failed"
}

/** Messages that take the same way, one at a time. */
export class Lane {
  /** A Set keeps the order, and gives up one in the middle at no cost. */
  readonly waiting = new Set<Entry>()
  sending: Sending | undefined
}

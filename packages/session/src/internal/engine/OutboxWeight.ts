/** The weight of the messages that wait in an outbox: its limits, and its share of the memory budget. */

import { type CloseReason, JsonRpc } from "@effect-mcp/protocol"
import type { Limits } from "../../Limits.ts"
import type * as MemoryBudget from "../../MemoryBudget.ts"
import type { Outbound } from "../../Transport.ts"
import type { Batch } from "./Batch.ts"
import type { Entry } from "./Lane.ts"
import * as Weight from "./Weight.ts"

/** The number and the bytes of the waiting replies, and the limit that they exceed. */
export type Overflow = Pick<
  CloseReason.CloseReason & { readonly _tag: "RepliesOverflow" },
  "waiting" | "bytes" | "limit"
>

/** The session of the outbox. */
export interface OutboxWeightDependencies {
  readonly budget: MemoryBudget.MemoryBudget
  readonly limits: Limits
  /** Called when more replies wait than the limits allow. */
  overflowed(overflow: Overflow): void
}

const repliesIn = ({ last, message }: Outbound): number => !last ? 0 : JsonRpc.isBatch(message) ? message.length : 1

/**
 * The number of replies that wait, and the bytes of all messages that wait here or in the transport. Each message is
 * weighed at most once, and only if it has to wait. Its entry, or its batch, has its weight and its charge.
 */
export class OutboxWeight {
  readonly #session: OutboxWeightDependencies
  /** The number of replies among the waiting messages. */
  #replies = 0
  #bytes = 0
  /** The bytes of the replies among the messages. */
  #replyBytes = 0
  /** The bytes that the memory budget is charged for replies that wait for the rest of their batches. */
  #collectedCharge = 0
  #account: MemoryBudget.Account | undefined
  #stopped = false

  constructor(session: OutboxWeightDependencies) {
    this.#session = session
  }

  /** The bytes of the weighed messages. */
  get bytes(): number {
    return this.#bytes
  }

  /** Counts a message that begins to wait. */
  add({ outbound }: Entry): void {
    this.#replies += repliesIn(outbound)
  }

  /** Stops counting and weighing a message that no longer waits. */
  remove(entry: Entry): void {
    this.#replies -= repliesIn(entry.outbound)
    this.unweigh(entry)
  }

  /** Weighs a message that has to wait. */
  weigh(entry: Entry): void {
    if (entry.charge !== undefined) return
    entry.weight ??= this.#weightOf(entry.outbound.message)
    entry.charge = 0
    this.#count(entry.weight, entry.outbound.last)
    const charge = this.#charge(entry.weight)
    // Other holders may have yielded memory, and an observer of that may have stopped this outbox.
    if (entry.charge === undefined) this.#release(charge)
    else entry.charge = charge
  }

  /** Releases the weight of a message, if it has any. */
  unweigh(entry: Entry): void {
    const { charge, weight = 0 } = entry
    if (charge === undefined) return
    entry.charge = undefined
    this.#release(charge)
    this.#count(-weight, entry.outbound.last)
  }

  /** Ends the session if this message is one reply too many. */
  check({ charge = 0, outbound, weight = 0 }: Entry): void {
    if (outbound.last) this.#checkReplies(weight, charge, this.#replies)
  }

  /** Counts a reply that waits for the rest of its batch. `collected` is the number of such replies, with this one. */
  collect(batch: Batch, reply: JsonRpc.Response, collected: number): void {
    const weight = this.#weightOf(reply)
    const charge = this.#charge(weight)
    if (this.#stopped) return this.#release(charge)
    batch.weight += weight
    batch.charge += charge
    this.#collectedCharge += charge
    this.#count(weight, true)
    this.#checkReplies(weight, charge, collected)
  }

  /** Stops counting the replies of a batch, because they no longer wait for each other. */
  gather(batch: Batch): void {
    this.#count(-batch.weight, true)
    this.#collectedCharge -= batch.charge
    this.#release(batch.charge)
    batch.weight = batch.charge = 0
  }

  /** Releases the weight of all collected replies, because no batch will be sent. */
  stop(): void {
    this.#stopped = true
    this.#release(this.#collectedCharge)
  }

  /**
   * Ends the session if too many replies wait, after one more has begun to wait. A reply of any size may wait alone, or
   * while the others take less than the limit. If the memory budget is exhausted, the session ends whose peer leaves
   * most bytes unread.
   */
  #checkReplies(weight: number, charge: number, waiting: number): void {
    const { maxOutgoingBytes, maxOutgoingReplies } = this.#session.limits
    const bytes = this.#replyBytes
    if (waiting > maxOutgoingReplies) this.#session.overflowed({ waiting, bytes, limit: "maxOutgoingReplies" })
    else if (bytes - weight >= maxOutgoingBytes) this.#session.overflowed({ waiting, bytes, limit: "maxOutgoingBytes" })
    else if (charge < weight && bytes > weight) this.#yield(waiting)
  }

  #weightOf(message: JsonRpc.Frame): number {
    return Weight.outgoing(message, this.#session.limits.maxOutgoingBytes)
  }

  #count(weight: number, isReply: boolean): void {
    this.#bytes += weight
    if (isReply) this.#replyBytes += weight
  }

  /** Charges the memory budget, and returns the charged bytes: all or none. */
  #charge(weight: number): number {
    this.#account ??= this.#session.budget.open({ isUnread: true, yields: () => this.#yield(this.#replies) })
    return this.#account.take(weight) ? weight : 0
  }

  #release(charge: number): void {
    this.#account?.release(charge)
  }

  /** Ends the session, because the memory budget is exhausted and this peer leaves most bytes unread. */
  #yield(waiting: number): void {
    this.#session.overflowed({ waiting, bytes: this.#bytes, limit: "MemoryBudget" })
  }
}

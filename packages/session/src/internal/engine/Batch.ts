/** Batches of 2025-03-26: several messages in one frame, whose replies go out as one frame. */

import { type JsonRpc, Revision } from "@effect-mcp/protocol"
import * as Result from "effect/Result"
import type { Limits } from "../../Limits.ts"
import type { StreamOrigin } from "../../Transport.ts"

/** A reply, and the action to run after the transport has received it. */
export interface Reply {
  readonly response: JsonRpc.Response
  readonly handed: ((isLost: boolean) => void) | undefined
}

/**
 * A batch of the peer, and the origin of each message in it. It collects their replies. These are sent as one frame
 * when the last message has ended, with a reply or without.
 */
export class Batch {
  readonly origin: StreamOrigin | undefined
  /** The memory of the collected replies in bytes, and the bytes that the memory budget is charged for them. */
  weight = 0
  charge = 0
  /** Whether one of the messages was rejected without a reply. */
  isRejected = false
  #unended: number
  #replies: Array<Reply> = []

  constructor(size: number, origin: StreamOrigin | undefined) {
    this.#unended = size
    this.origin = origin
  }

  /** Replaces the collected replies. */
  replace(instead: (reply: Reply) => Reply): void {
    this.#replies = this.#replies.map(instead)
  }

  /** Ends one of the messages. Returns the replies to send after the last of them. */
  end(reply?: Reply): ReadonlyArray<Reply> | undefined {
    if (reply !== undefined) this.#replies.push(reply)
    return --this.#unended === 0 ? this.#replies : undefined
  }
}

/** Returns whether an origin is a batch. */
export const isBatch = (origin: StreamOrigin | undefined): origin is Batch => origin instanceof Batch

/** Returns the origin that the transport gave to a message: the origin of its batch, if it arrived in one. */
export const unwrap = (origin: StreamOrigin | undefined): StreamOrigin | undefined =>
  isBatch(origin) ? origin.origin : origin

const malformed = (problem: string): JsonRpc.Malformed => ({ id: undefined, answerable: true, problem })

const notAllowed = malformed("a batch is not allowed here")

/**
 * Opens a batch of `size` messages, or fails with the reason why it is rejected. Only one revision has batches, a batch
 * must not contain another batch (MSG-15), and the number of messages is limited. This is checked before memory is
 * allocated for a message, because each takes more memory than its bytes on the wire.
 */
export const open = (
  size: number,
  origin: StreamOrigin | undefined,
  revision: Revision.Revision | undefined,
  { maxBatchMessages: limit }: Limits
): Result.Result<Batch, JsonRpc.Malformed> => {
  // Before the handshake no revision with batches is negotiated, so `initialize` cannot be in a batch (MSG-16).
  if (isBatch(origin) || revision === undefined || !Revision.envelopes[revision].batches) return Result.fail(notAllowed)
  return size > limit
    ? Result.fail(malformed(`the batch has ${size} messages; the limit is ${limit}`))
    : Result.succeed(new Batch(size, origin))
}

/** Batches of 2025-03-26: several messages in one frame, whose replies go out as one frame. */

import { type JsonRpc, Revision } from "@effect-mcp/protocol"
import * as Result from "effect/Result"
import type { Limits } from "../../Limits.ts"
import type { StreamOrigin } from "../../Transport.ts"

/** A reply, and the action to run once it has been handed to the transport. */
export interface Reply {
  readonly response: JsonRpc.Response
  readonly handed: (() => void) | undefined
}

/**
 * A batch of the peer's. It is the origin of each of its messages. It collects their replies, which go out as one frame
 * when the last message has ended, with a reply or without one.
 */
export class Batch {
  readonly origin: StreamOrigin | undefined
  /** The bytes of the collected replies, and the part of them that the budget of the process is charged for. */
  weight = 0
  charge = 0
  /** One of the messages was rejected without a reply. */
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

/** Returns the origin that the transport gave to a message: that of its batch, if it came in one. */
export const unwrap = (origin: StreamOrigin | undefined): StreamOrigin | undefined =>
  isBatch(origin) ? origin.origin : origin

const malformed = (problem: string): JsonRpc.Malformed => ({ id: undefined, answerable: true, problem })

const noBatch = malformed("no batch is expected here")

/**
 * Opens a batch of so many messages, or fails with the reason why there may be none: only one revision has batches, a
 * batch holds no other batch (MSG-15), and it holds no more messages than the limit. This is decided before anything is
 * allocated for one of the messages, because each costs more than its bytes.
 */
export const open = (
  size: number,
  origin: StreamOrigin | undefined,
  revision: Revision.Revision | undefined,
  { maxBatchMessages: limit }: Limits
): Result.Result<Batch, JsonRpc.Malformed> => {
  // A session has no handshake in a batch, because without one there is no revision that has batches (MSG-16).
  if (isBatch(origin) || revision === undefined || !Revision.envelopes[revision].batches) return Result.fail(noBatch)
  return size > limit
    ? Result.fail(malformed(`the batch holds ${size} messages; the limit is ${limit}`))
    : Result.succeed(new Batch(size, origin))
}

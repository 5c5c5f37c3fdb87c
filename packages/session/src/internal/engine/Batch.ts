import { type JsonRpc, Revision } from "@effect-mcp/protocol"
import * as Result from "effect/Result"
import type { Limits } from "../../Limits.ts"
import type { StreamOrigin } from "../../Transport.ts"

/** A reply, and what to do when it has been handed over. */
export interface Reply {
  readonly response: JsonRpc.Response
  readonly handed: (() => void) | undefined
}

/**
 * Several messages of the peer's in one frame, which is the origin of each of them. Their replies are collected and go out as
 * one frame when the last of the messages has ended, with a reply or without.
 */
export class Batch {
  readonly origin: StreamOrigin | undefined
  /** The bytes of the replies that wait here for the rest, and what the budget of the process is charged for them. */
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

  /** Replaces the replies that wait. */
  replace(instead: (reply: Reply) => Reply): void {
    this.#replies = this.#replies.map(instead)
  }

  /** One of the messages has ended. After the last of them it says what there is to send. */
  end(reply?: Reply): ReadonlyArray<Reply> | undefined {
    if (reply !== undefined) this.#replies.push(reply)
    return --this.#unended === 0 ? this.#replies : undefined
  }
}

const malformed = (problem: string): JsonRpc.Malformed => ({ id: undefined, answerable: true, problem })

const noBatch = malformed("no batch is expected here")

/**
 * A batch of so many messages, or why there may be none: only one revision has batches, a batch holds no other
 * (MSG-15), and it holds no more messages than the limit. Decided before anything is made for any of the messages,
 * since each costs more than its bytes.
 */
export const open = (
  size: number,
  origin: StreamOrigin | undefined,
  revision: Revision.Revision | undefined,
  { maxBatchMessages: limit }: Limits
): Result.Result<Batch, JsonRpc.Malformed> => {
  // A session has no handshake in a batch, because without one there is no revision that has batches (MSG-16).
  if (origin instanceof Batch || revision === undefined || !Revision.envelopes[revision].batches) {
    return Result.fail(noBatch)
  }
  return size > limit
    ? Result.fail(malformed(`the batch holds ${size} messages; the limit is ${limit}`))
    : Result.succeed(new Batch(size, origin))
}

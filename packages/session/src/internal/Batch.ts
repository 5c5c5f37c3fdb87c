import type { JsonRpc } from "@effect-mcp/protocol"
import type { Origin } from "../Transport.ts"

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
  readonly origin: Origin | undefined
  #unended: number
  readonly #replies: Array<Reply> = []

  constructor(size: number, origin: Origin | undefined) {
    this.#unended = size
    this.origin = origin
  }

  /** One of the messages has ended. After the last of them it says what there is to send. */
  end(reply?: Reply): ReadonlyArray<Reply> | undefined {
    if (reply !== undefined) this.#replies.push(reply)
    return --this.#unended === 0 ? this.#replies : undefined
  }
}

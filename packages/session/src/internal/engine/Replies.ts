/** The replies of a session to requests of its peer, and the collected replies of batches. */

import { JsonRpc, McpError } from "@effect-mcp/protocol"
import type { Connection, StreamOrigin } from "../../Transport.ts"
import type { TransportError } from "../../TransportError.ts"
import { type Batch, isBatch, type Reply } from "./Batch.ts"
import * as Lane from "./Lane.ts"
import * as Outbox from "./Outbox.ts"

/** Returns an internal error instead of a response. */
const failed = ({ id }: JsonRpc.Response): JsonRpc.Response => JsonRpc.failure(id, McpError.internalError)

/** Replaces a response in a frame that the transport could not serialize. */
type Replacement = (response: JsonRpc.Response) => JsonRpc.Response

/**
 * The replacements of replies that could not be serialized, in the order of attempts. Replies of a batch may be too
 * long only together, so the first attempt replaces those that cannot be serialized alone.
 */
const replacements: ReadonlyArray<Replacement> = [failed]
const batchReplacements: ReadonlyArray<Replacement> = [JsonRpc.serializable, failed]

/** The session that sends the replies. */
export interface RepliesDependencies {
  readonly connection: Connection
  readonly outbox: Outbox.Outbox
  /** Called if a frame could not be sent. */
  failedToSend(frame: JsonRpc.Frame, error: TransportError): void
}

/** Sends the one reply of each request of the peer, or ends the request without a reply. */
export class Replies {
  readonly #session: RepliesDependencies
  /** The number of replies that wait for the rest of their batch. */
  #collected = 0
  #isMuted = false

  constructor(session: RepliesDependencies) {
    this.#session = session
  }

  /**
   * Sends a reply without waiting. Calls `handed` when the transport has received it, or when sending has failed: then
   * with `true`, unless another reply is sent instead.
   */
  reply(response: JsonRpc.Response, replyTo: StreamOrigin | undefined, handed?: (isLost: boolean) => void): void {
    if (this.#isMuted) {
      handed?.(false)
      return this.settle(replyTo)
    }
    if (isBatch(replyTo)) this.#end(replyTo, { response, handed })
    else this.#post(response, replyTo, handed, replacements)
  }

  /** Sends no more replies: a client of a revision without a handshake sends none (SHE-01). */
  mute(): void {
    this.#isMuted = true
  }

  /** Ends a message of this origin without a reply, for example a request that `Cancellation` has cancelled. */
  settle(origin: StreamOrigin | undefined): void {
    if (isBatch(origin)) this.#end(origin)
    else if (origin !== undefined) this.#session.connection.endExchange?.(origin)
  }

  /** Ends a message of this origin, whose frame is rejected without a reply. */
  reject(origin: StreamOrigin | undefined): void {
    if (isBatch(origin)) {
      origin.isRejected = true
      this.#end(origin)
    } else if (origin !== undefined) this.#session.connection.endExchange?.(origin, true)
  }

  #post(
    frame: JsonRpc.Response | ReadonlyArray<JsonRpc.Response>,
    replyTo: StreamOrigin | undefined,
    handed: ((isLost: boolean) => void) | undefined,
    replacements: ReadonlyArray<Replacement>
  ): void {
    this.#session.outbox.offer(
      Lane.entry({ message: frame, replyTo, last: true }, {
        done: (exit) => {
          const error = Outbox.errorOf(exit)
          handed?.(error !== undefined && error.reason._tag !== "Unserializable")
          if (error === undefined) return
          this.#session.failedToSend(frame, error)
          const [next, ...others] = replacements
          if (error.reason._tag !== "Unserializable" || next === undefined) return
          this.#post(JsonRpc.isBatch(frame) ? frame.map(next) : next(frame), replyTo, undefined, others)
        }
      })
    )
  }

  /** Ends one message of a batch. After the last of them, sends the collected replies. */
  #end(batch: Batch, reply?: Reply): void {
    const { outbox } = this.#session
    const replies = batch.end(reply)
    if (replies === undefined) {
      if (reply === undefined) return
      return outbox.collect(batch, reply.response, ++this.#collected)
    }
    this.#collected -= replies.length - (reply === undefined ? 0 : 1)
    outbox.gather(batch)
    if (replies.length === 0) return batch.isRejected ? this.reject(batch.origin) : this.settle(batch.origin)
    this.#post(
      replies.map(({ response }) => response),
      batch.origin,
      (isLost) => {
        for (const { handed } of replies) handed?.(isLost)
      },
      batchReplacements
    )
  }
}

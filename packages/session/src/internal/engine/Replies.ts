/** The replies of a session to the requests of its peer. */

import { JsonRpc, McpError } from "@effect-mcp/protocol"
import type { Connection, StreamOrigin } from "../../Transport.ts"
import type { TransportError } from "../../TransportError.ts"
import { type Batch, isBatch, type Reply } from "./Batch.ts"
import * as Lane from "./Lane.ts"
import * as Outbox from "./Outbox.ts"

/**
 * Replaces a response that JSON cannot carry by an internal error. Without it, the peer would wait until its deadline.
 */
const writable = (response: JsonRpc.Response): JsonRpc.Response => {
  try {
    JSON.stringify(response)
    return response
  } catch {
    return JsonRpc.failure(response.id, McpError.internalError)
  }
}

/** Makes an internal error in the place of a response. */
const failed = ({ id }: JsonRpc.Response): JsonRpc.Response => JsonRpc.failure(id, McpError.internalError)

/** Replaces a response in a frame that the transport could not write. */
type Instead = (response: JsonRpc.Response) => JsonRpc.Response

/**
 * The replacements for one reply, in order. Several replies may be too long only together, so one more comes first for
 * them.
 */
const insteadOfOne: ReadonlyArray<Instead> = [failed]
const insteadOfSeveral: ReadonlyArray<Instead> = [writable, failed]

/** The session of the replies. */
export interface RepliesDependencies {
  readonly connection: Connection
  readonly outbox: Outbox.Outbox
  /** Called if a frame could not be sent. */
  failedToSend(frame: JsonRpc.Frame, error: TransportError): void
}

/** The ends of the peer's requests on the wire: each has one reply, or none. */
export class Replies {
  readonly #session: RepliesDependencies
  /** The number of replies that wait for the rest of their batch. */
  #collected = 0

  constructor(session: RepliesDependencies) {
    this.#session = session
  }

  /** Sends a reply without waiting. Calls `handed` when the transport has the reply, or cannot have it. */
  reply(response: JsonRpc.Response, replyTo: StreamOrigin | undefined, handed?: () => void): void {
    if (isBatch(replyTo)) this.#end(replyTo, { response, handed })
    else this.#post(response, replyTo, handed, insteadOfOne)
  }

  /** Ends a message of this origin without a reply. */
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
    handed: (() => void) | undefined,
    instead: ReadonlyArray<Instead>
  ): void {
    this.#session.outbox.offer(
      Lane.entry({ message: frame, replyTo, last: true }, {
        done: (exit) => {
          handed?.()
          const error = Outbox.errorOf(exit)
          if (error === undefined) return
          this.#session.failedToSend(frame, error)
          const [next, ...others] = instead
          if (error.reason._tag !== "Unserializable" || next === undefined) return
          this.#post(JsonRpc.isBatch(frame) ? frame.map(next) : next(frame), replyTo, undefined, others)
        }
      })
    )
  }

  /** Ends one message of a batch. */
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
      () => {
        for (const { handed } of replies) handed?.()
      },
      insteadOfSeveral
    )
  }
}

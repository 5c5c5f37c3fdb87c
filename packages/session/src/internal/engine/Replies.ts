import { JsonRpc, McpError } from "@effect-mcp/protocol"
import type { Connection, StreamOrigin } from "../../Transport.ts"
import type { TransportError } from "../../TransportError.ts"
import { Batch, type Reply } from "./Batch.ts"
import * as Lane from "./Lane.ts"
import * as Outbox from "./Outbox.ts"

/** The response, unless no JSON can say it: then the peer would wait for ever, and is told that something failed. */
const writable = (response: JsonRpc.Response): JsonRpc.Response => {
  try {
    JSON.stringify(response)
    return response
  } catch {
    return JsonRpc.failure(response.id, McpError.internalError)
  }
}

/** That something failed, which is all that can be said. */
const failed = ({ id }: JsonRpc.Response): JsonRpc.Response => JsonRpc.failure(id, McpError.internalError)

/** What is sent instead of replies that no JSON can say: those of a batch that can be said stay. */
export const insteadOf = (
  reply: JsonRpc.Response | ReadonlyArray<JsonRpc.Response>
): JsonRpc.Response | ReadonlyArray<JsonRpc.Response> => {
  if (!JsonRpc.isBatch(reply)) return failed(reply)
  const replies = reply.map(writable)
  try {
    // Each of them alone may be short enough, and all of them together too long.
    JSON.stringify(replies)
    return replies
  } catch {
    return reply.map(failed)
  }
}

/** What is sent instead of a response, in a frame that the transport could not write. */
type Instead = (response: JsonRpc.Response) => JsonRpc.Response

/** What is tried instead of one, and of several together, which may be too long only all of them. Then nothing is. */
const insteadOfOne: ReadonlyArray<Instead> = [failed]
const insteadOfSeveral: ReadonlyArray<Instead> = [writable, failed]

/** What replies need of their session. */
export interface Replying {
  readonly connection: Connection
  readonly outbox: Outbox.Outbox
  /** One frame could not be sent. */
  failedToSend(frame: JsonRpc.Frame, error: TransportError): void
}

/**
 * How the peer's requests end on the wire: each with one reply, or none.
 */
export class Replies {
  readonly #session: Replying
  /** How many wait for the rest of their batch. */
  #collected = 0

  constructor(session: Replying) {
    this.#session = session
  }

  /** Answers a request, at once and without waiting. `handed` is called when the reply is on its way, or cannot be. */
  reply(response: JsonRpc.Response, replyTo: StreamOrigin | undefined, handed?: () => void): void {
    if (replyTo instanceof Batch) this.#end(replyTo, { response, handed })
    else this.#post(response, replyTo, handed, insteadOfOne)
  }

  /** What belongs to this origin has ended without a reply. */
  settle(origin: StreamOrigin | undefined): void {
    if (origin instanceof Batch) this.#end(origin)
    else if (origin !== undefined) this.#session.connection.endExchange?.(origin)
  }

  /** A frame of this origin was rejected, without a reply. */
  reject(origin: StreamOrigin | undefined): void {
    if (origin instanceof Batch) {
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

  /** One message of a batch has ended. */
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

import { JsonRpc, McpError } from "@effect-mcp/protocol"
import type { Connection, Origin } from "../Transport.ts"
import type { TransportError } from "../TransportError.ts"
import { Batch, type Reply } from "./Batch.ts"
import * as Outbox from "./Outbox.ts"

/**
 * How the peer's requests end on the wire: each with one reply, or none.
 */
export interface Replies {
  /** Answers a request, at once and without waiting. `handed` is called when the reply is on its way, or cannot be. */
  readonly reply: (response: JsonRpc.Response, via: Origin | undefined, handed?: () => void) => void
  /** What belongs to this origin has ended without a reply. */
  readonly settle: (origin: Origin | undefined) => void
}

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

export const make = (options: {
  readonly connection: Connection
  readonly outbox: Outbox.Outbox
  /** How many replies may wait for the rest of their batch. */
  readonly capacity: number
  /** One frame could not be sent. */
  readonly onFailed: (frame: JsonRpc.Frame, error: TransportError) => void
  /** More replies wait than may. */
  readonly onOverflow: (replies: number) => void
}): Replies => {
  const { capacity, connection, onFailed, onOverflow, outbox } = options
  let collected = 0

  const post = (
    frame: JsonRpc.Response | ReadonlyArray<JsonRpc.Response>,
    via: Origin | undefined,
    handed: () => void,
    instead: ReadonlyArray<Instead>
  ) =>
    outbox.offer(
      Outbox.entry({ message: frame, via, last: true }, {
        done: (exit) => {
          handed()
          const error = Outbox.errorOf(exit)
          if (error === undefined) return
          onFailed(frame, error)
          const [next, ...others] = instead
          if (error.reason._tag !== "Unserializable" || next === undefined) return
          post(JsonRpc.isBatch(frame) ? frame.map(next) : next(frame), via, () => {}, others)
        }
      })
    )

  /** One message of a batch has ended. */
  const end = (batch: Batch, reply?: Reply) => {
    if (reply !== undefined) collected++
    const replies = batch.end(reply)
    if (replies === undefined) return collected > capacity ? onOverflow(collected) : undefined
    collected -= replies.length
    if (replies.length === 0) return settle(batch.origin)
    post(
      replies.map(({ response }) => response),
      batch.origin,
      () => {
        for (const { handed } of replies) handed?.()
      },
      insteadOfSeveral
    )
  }

  const settle: Replies["settle"] = (origin) => {
    if (origin instanceof Batch) end(origin)
    else if (origin !== undefined) connection.settle?.(origin)
  }

  return {
    reply: (response, via, handed) =>
      via instanceof Batch
        ? end(via, { response, handed })
        : post(response, via, handed ?? (() => {}), insteadOfOne),
    settle
  }
}

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

export const make = (options: {
  readonly connection: Connection
  readonly outbox: Outbox.Outbox
  /** One frame could not be sent. */
  readonly onFailed: (frame: JsonRpc.Frame, error: TransportError) => void
}): Replies => {
  const { connection, onFailed, outbox } = options

  const post = (
    frame: JsonRpc.Response | ReadonlyArray<JsonRpc.Response>,
    via: Origin | undefined,
    handed: () => void
  ) =>
    outbox.offer(
      Outbox.entry({ message: frame, via, last: true }, {
        done: (exit) => {
          handed()
          const error = Outbox.errorOf(exit)
          if (error === undefined) return
          onFailed(frame, error)
          if (error.reason._tag !== "Unserializable") return
          if (JsonRpc.isBatch(frame)) post(frame.map(writable), via, () => {})
          else if (frame.id !== undefined) post(JsonRpc.failure(frame.id, McpError.internalError), via, () => {})
        }
      })
    )

  const finish = (batch: Batch, replies: ReadonlyArray<Reply> | undefined) => {
    if (replies === undefined) return
    if (replies.length === 0) return settle(batch.origin)
    post(replies.map(({ response }) => response), batch.origin, () => {
      for (const { handed } of replies) handed?.()
    })
  }

  const settle: Replies["settle"] = (origin) => {
    if (origin instanceof Batch) finish(origin, origin.end())
    else if (origin !== undefined) connection.settle?.(origin)
  }

  return {
    reply: (response, via, handed) =>
      via instanceof Batch
        ? finish(via, via.end({ response, handed }))
        : post(response, via, handed ?? (() => {})),
    settle
  }
}

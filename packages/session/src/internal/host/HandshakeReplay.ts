import type { JsonRpc } from "@effect-mcp/protocol"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import type { Connection, StreamOrigin, Transport } from "../../Transport.ts"

/**
 * A transport whose session is told first what its client said long ago, and perhaps to somebody else. The replies have been given
 * then, so they go nowhere now.
 */
export const over = (
  transport: Transport["Service"],
  opening: ReadonlyArray<JsonRpc.Message>,
  onDelivered: () => void
): Transport["Service"] => ({ connect: Effect.map(transport.connect, (below) => wrap(below, opening, onDelivered)) })

const wrap = (
  below: Connection,
  opening: ReadonlyArray<JsonRpc.Message>,
  onDelivered: () => void
): Connection => {
  const origin: StreamOrigin = {}
  // The connection lives as long as its session, and what it holds does.
  const untold = Array.from(opening)
  return {
    ...below,
    run: (deliver, hooks) =>
      Effect.suspend(() => {
        for (const message of untold.splice(0)) deliver({ frame: Result.succeed(message), origin })
        onDelivered()
        return below.run(deliver, hooks)
      }),
    send: (outbound) => outbound.replyTo === origin ? Effect.void : below.send(outbound),
    ...(below.endExchange === undefined ? undefined : {
      endExchange: (settled: StreamOrigin, rejected?: boolean) => {
        if (settled !== origin) below.endExchange?.(settled, rejected)
      }
    }),
    ...(below.detachStream === undefined ? undefined : {
      detachStream: (released: StreamOrigin) =>
        released === origin ? Effect.succeed(false) : below.detachStream?.(released) ?? Effect.succeed(false)
    })
  }
}

/** The transport of a restored session, which replays the handshake messages of the client. */

import type { JsonRpc } from "@effect-mcp/protocol"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import type { Connection, StreamOrigin, Transport } from "../../Transport.ts"

/**
 * Returns a transport that delivers the handshake messages before any message of the transport below. The client
 * received the replies to them long ago, perhaps from another host, so the replies are discarded.
 */
export const over = (
  transport: Transport["Service"],
  handshakeMessages: ReadonlyArray<JsonRpc.Message>,
  onDelivered: () => void
): Transport["Service"] => ({
  connect: Effect.map(transport.connect, (below) => wrap(below, handshakeMessages, onDelivered))
})

const wrap = (
  below: Connection,
  handshakeMessages: ReadonlyArray<JsonRpc.Message>,
  onDelivered: () => void
): Connection => {
  const origin: StreamOrigin = {}
  // The connection lives as long as its session, so it must not keep the messages after they are delivered.
  const undelivered = Array.from(handshakeMessages)
  return {
    ...below,
    run: (deliver, hooks) =>
      Effect.suspend(() => {
        for (const message of undelivered.splice(0)) deliver({ frame: Result.succeed(message), origin })
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

/** The transport of a restored session, which replays the handshake messages of the client. */

import type { JsonRpc } from "@effect-mcp/protocol"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import type { Principal } from "../../Principal.ts"
import type { Connection, Inbound, StreamOrigin, Transport } from "../../Transport.ts"

/** The time that the handlers of all facts have together. */
const factsMillis = 5000

/** The messages that are replayed. */
export interface Replay {
  readonly handshakeMessages: ReadonlyArray<JsonRpc.Message>
  /** The requests that set the log level and the subscriptions of the client, one after the other. */
  readonly facts: ReadonlyArray<JsonRpc.Request>
  readonly principal: Principal | undefined
  /** Called when all of them are served. */
  readonly onDelivered: () => void
}

/**
 * Returns a transport that delivers the handshake messages before any message of the transport below. The client
 * received the replies to them long ago, perhaps from another host, so the replies are discarded.
 */
export const over = (
  transport: Transport["Service"],
  replay: Replay
): Transport["Service"] => ({
  connect: Effect.map(transport.connect, (below) => wrap(below, replay))
})

const wrap = (
  below: Connection,
  { facts, handshakeMessages, onDelivered, principal }: Replay
): Connection => {
  const origin: StreamOrigin = {}
  // The connection lives as long as its session, so it must not keep the messages after they are delivered.
  const undelivered = Array.from(handshakeMessages)
  const requests = Array.from(facts)
  let served: (() => void) | undefined
  const restoreFacts = (deliver: (inbound: Inbound) => void): Effect.Effect<void> =>
    Effect.asVoid(Effect.timeoutOption(
      Effect.forEach(requests.splice(0), (message) =>
        Effect.callback<void>((resume) => {
          served = () => resume(Effect.void)
          deliver({ frame: Result.succeed(message), origin, principal })
        }), { discard: true }),
      Duration.millis(factsMillis)
    ))
  return {
    ...below,
    run: (deliver, hooks) =>
      Effect.suspend(() => {
        for (const message of undelivered.splice(0)) deliver({ frame: Result.succeed(message), origin })
        const run = Effect.suspend(() => {
          onDelivered()
          return below.run(deliver, hooks)
        })
        return requests.length === 0 ? run : Effect.andThen(restoreFacts(deliver), run)
      }),
    send: (outbound) => {
      if (outbound.replyTo !== origin) return below.send(outbound)
      if (outbound.last) served?.()
      return Effect.void
    },
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

import { JsonRpc } from "@effect-mcp/protocol"
import type { Transport } from "@effect-mcp/session"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"

/** A message as one side sees it go or come. */
export interface Record {
  readonly side: "client" | "server"
  readonly direction: "sent" | "received"
  readonly message: JsonRpc.Message
}

/**
 * A transport that writes down what passes, and lets a test slip in frames of its own.
 */
export interface Recorded {
  readonly transport: Transport.Transport["Service"]
  readonly inject: (inbound: Transport.Inbound) => void
  /** The last frame that came in. */
  readonly last: () => Transport.Inbound | undefined
}

export const make = (
  side: Record["side"],
  transport: Transport.Transport["Service"],
  records: Array<Record>
): Recorded => {
  let deliverTo: ((inbound: Transport.Inbound) => void) | undefined
  let last: Transport.Inbound | undefined
  const received = (inbound: Transport.Inbound) => {
    if (Result.isFailure(inbound.frame)) return
    for (const message of JsonRpc.messages(inbound.frame.success)) {
      records.push({ side, direction: "received", message })
    }
  }
  return {
    transport: {
      connect: Effect.map(transport.connect, (connection): Transport.Connection => {
        const { request } = connection
        return {
          ...connection,
          run: (deliver) => {
            deliverTo = deliver
            return connection.run((inbound) => {
              last = inbound
              received(inbound)
              deliver(inbound)
            })
          },
          send: (outbound) => {
            for (const message of JsonRpc.messages(outbound.message)) records.push({ side, direction: "sent", message })
            return connection.send(outbound)
          },
          ...(request === undefined ? undefined : {
            request: (message: JsonRpc.Request) => {
              records.push({ side, direction: "sent", message })
              return request(message)
            }
          })
        }
      })
    },
    inject: (inbound) => deliverTo?.(inbound),
    last: () => last
  }
}

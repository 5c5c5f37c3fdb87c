/** A channel in memory, which several buses of one program share. */

import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type { ChangeReceiver, MemoryChannel } from "./ChangeBusShape.ts"
import { Disconnected } from "./Receiving.ts"

/** The bytes of a message, as in databases. */
const messageBytes = 8_000

export const make = (): MemoryChannel => {
  /** The receivers of the buses, each with the function that breaks its connection. */
  const receivers = new Map<ChangeReceiver, () => void>()
  return {
    connection: {
      messageBytes,
      receive: (receiver) =>
        Effect.callback<never, Disconnected>((resume) => {
          receivers.set(receiver, () => {
            receivers.delete(receiver)
            resume(Effect.fail(new Disconnected({ problem: "the channel in memory was interrupted" })))
          })
          receiver.onOpen()
          return Effect.sync(() => receivers.delete(receiver))
        }),
      send: (text) => {
        for (const receiver of receivers.keys()) receiver.onMessage(text)
        return Exit.void
      }
    },
    interrupt: Effect.sync(() => {
      for (const interrupt of receivers.values()) interrupt()
    })
  }
}

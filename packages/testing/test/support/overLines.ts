/** A transport over lines of bytes, like stdio, without a process. */
import { type Transport } from "@effect-mcp/session"
import { JsonLines } from "@effect-mcp/transport"
import * as Effect from "effect/Effect"
import * as Queue from "effect/Queue"

/** The far end of this transport. */
export interface Wire {
  readonly transport: Transport.Transport["Service"]
  /** Sends bytes to the session. */
  readonly feed: (bytes: Uint8Array) => Effect.Effect<void>
  /** Returns the lines that the session has written since the last call. */
  readonly written: Effect.Effect<ReadonlyArray<string>>
}

export const make: Effect.Effect<Wire> = Effect.gen(function*() {
  const inbox = yield* Queue.unbounded<Uint8Array>()
  const lines: Array<string> = []
  return {
    transport: {
      connect: Effect.succeed({
        run: (deliver) => {
          const decoder = JsonLines.decoder((frame, bytes) => deliver({ frame, bytes }))
          return Effect.forever(Effect.map(Queue.take(inbox), (bytes) => decoder.push(bytes)))
        },
        send: ({ message }) =>
          Effect.suspend(() =>
            Effect.asVoid(Effect.map(Effect.fromResult(JsonLines.encode(message)), (line) => lines.push(line)))
          )
      })
    },
    feed: (bytes) => Effect.sync(() => Queue.offerUnsafe(inbox, bytes)),
    written: Effect.sync(() => lines.splice(0))
  }
})

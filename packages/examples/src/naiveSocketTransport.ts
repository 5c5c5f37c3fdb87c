/**
 * The client's end of a transport over a TCP socket as one would write it in a hurry. Small messages come through, so that it seems to
 * work. It makes three mistakes, and `test/naiveSocketTransport.test.ts` shows which laws find each of them out. How to do better is
 * in `socketTransport.ts`.
 */
import { Transport } from "@effect-mcp/session"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Result from "effect/Result"
import type * as Net from "node:net"

/** First mistake: it takes each chunk for a number of whole lines. What is cut off at either end is lost, and nobody hears of it. */
const messagesIn = (chunk: Uint8Array): ReadonlyArray<unknown> =>
  String(chunk).split("\n").flatMap((line): ReadonlyArray<unknown> => {
    try {
      return [JSON.parse(line)]
    } catch {
      return []
    }
  })

/** The end over a socket that is open. */
export const over = (socket: Net.Socket): Layer.Layer<Transport.Transport> => {
  socket.on("error", () => {})
  return Layer.succeed(Transport.Transport, {
    connect: Effect.acquireRelease(
      Effect.succeed<Transport.Connection>({
        // Second mistake: it knows one way to end. A connection that breaks never ends for it, and who waits waits on.
        run: (deliver) =>
          Effect.callback<Transport.End>((resume) => {
            socket.on("data", (chunk) =>
              messagesIn(chunk).forEach((message) => deliver({ frame: Result.succeed(message) })))
            socket.once("end", () =>
              resume(Effect.succeed({ exit: undefined, writable: true })))
          }),
        // Third mistake: it says "sent" at once, whether there is room or not. A peer that does not read fills the memory.
        send: ({ message }) => Effect.sync(() => void socket.write(`${JSON.stringify(message)}\n`))
      }),
      () => Effect.sync(() => socket.end())
    )
  })
}

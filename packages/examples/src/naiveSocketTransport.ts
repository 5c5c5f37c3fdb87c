/**
 * The client's end of a transport over a TCP socket, with three mistakes. Small messages arrive, so it seems to work.
 * `test/naiveSocketTransport.test.ts` shows which laws find each mistake. `socketTransport.ts` is correct.
 */
import { Transport } from "@effect-mcp/session"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Result from "effect/Result"
import type * as Net from "node:net"

/** First mistake: it parses each chunk as whole lines. A line in two chunks is lost without an error. */
const messagesIn = (chunk: Uint8Array): ReadonlyArray<unknown> =>
  String(chunk).split("\n").flatMap((line): ReadonlyArray<unknown> => {
    try {
      return [JSON.parse(line)]
    } catch {
      return []
    }
  })

/** The client's end over an open socket. */
export const over = (socket: Net.Socket): Layer.Layer<Transport.Transport> => {
  socket.on("error", () => {})
  return Layer.succeed(Transport.Transport, {
    connect: Effect.acquireRelease(
      Effect.succeed<Transport.Connection>({
        // Second mistake: it handles only a normal end. After the connection breaks, its callers wait for ever.
        run: (deliver) =>
          Effect.callback<Transport.End>((resume) => {
            socket.on("data", (chunk) =>
              messagesIn(chunk).forEach((message) => deliver({ frame: Result.succeed(message) })))
            socket.once("end", () =>
              resume(Effect.succeed({ exit: undefined, writable: true })))
          }),
        // Third mistake: a message counts as sent at once. A peer that does not read makes the memory fill up.
        send: ({ message }) => Effect.sync(() => void socket.write(`${JSON.stringify(message)}\n`))
      }),
      () => Effect.sync(() => socket.end())
    )
  })
}

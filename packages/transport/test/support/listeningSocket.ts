/** A listener at a path that reads and discards, and ends each connection. */
import * as Effect from "effect/Effect"
import * as Net from "node:net"

export const listen = (at: string) =>
  Effect.acquireRelease(
    Effect.callback<Net.Server, Error>((resume) => {
      const server = Net.createServer((socket) => socket.on("error", () => {}).resume().end())
      server.once("error", (error) => resume(Effect.fail(error)))
      server.listen(at, () => resume(Effect.succeed(server)))
    }),
    (server) => Effect.callback<void>((resume) => void server.close(() => resume(Effect.void)))
  )

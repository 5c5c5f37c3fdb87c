/** Ports for servers that tests start, kill and start again at the same address. */
import * as Effect from "effect/Effect"
import { randomInt } from "node:crypto"
import * as net from "node:net"

/**
 * Finds a port of this machine on which no server listens, from 10,000 to 29,999. These are below the ephemeral ports:
 * while no server listens at an ephemeral port, the system could give it to a connection of another test.
 */
export const freePort: Effect.Effect<number> = Effect.callback((resume) => {
  const port = randomInt(10_000, 30_000)
  const server = net.createServer()
  server.once("error", () => resume(freePort))
  server.listen(port, "127.0.0.1", () => server.close(() => resume(Effect.succeed(port))))
})

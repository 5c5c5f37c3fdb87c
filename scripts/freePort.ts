/** Ports for servers that tests start, kill and start again at the same address. */
import * as Effect from "effect/Effect"
import { randomInt } from "node:crypto"
import * as net from "node:net"

/** The next port to try. Each worker of the tests has ports of its own. */
let nextPort = 10_000 + Number(process.env["VITEST_POOL_ID"] ?? 0) % 8 * 2_500 + randomInt(2_000)

/**
 * Finds a port of this machine on which no server listens. It is below the ports that systems give to connections by
 * default, from 32,768 on Linux: while no server listens at such a port, a connection of another test could get it.
 */
export const freePort: Effect.Effect<number> = Effect.callback((resume) => {
  const port = nextPort++
  const server = net.createServer()
  server.once(
    "error",
    (error: NodeJS.ErrnoException) =>
      resume(error.code === "EADDRINUSE" || error.code === "EACCES" ? freePort : Effect.die(error))
  )
  server.listen(port, "127.0.0.1", () => server.close(() => resume(Effect.succeed(port))))
})
